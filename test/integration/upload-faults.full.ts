/**
 * Uploads of random sizes through the gateway into an S3 that fails at random: every 200 is byte-identical on
 * download, and every failure leaves nothing, once the janitor has seen what faults kept from being taken back.
 */
import { randomFillSync } from 'node:crypto';
import t from 'tap';
import { serveGatewayOn } from '../services/gateway-on-s3.ts';
import { seededRandom } from '../services/s3-stub/seeded-random.ts';
import { openStubStore, stubPartBytes } from '../services/stub-store.ts';
import { testJanitor } from '../services/test-janitor.ts';
import { seed, sized } from '../services/test-size.ts';

const partBytes = stubPartBytes;
const uploads = sized(1000, 400);
const atOnce = 16;

t.test(`${uploads} uploads under random faults`, { timeout: 560_000 }, async (t) => {
  const { stub, store } = await openStubStore(t, {
    stub: { seed },
    partBytes,
    maxObjectBytes: 100_000_000,
    timing: { request: 10_000, connect: 2000, quiet: 2000, cleanup: 20_000, firstPause: 2, longestPause: 50 },
  });
  const gateway = await serveGatewayOn(t, store, { largestPart: 1024 * 1024, memoryBytes: 16 * 1024 * 1024 });
  const random = seededRandom(seed + 1);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const fault = (probability: number, action: Parameters<typeof stub.fault>[0]['action']) =>
    stub.fault({ probability, action });
  // one call in five or so
  const rules = [
    fault(0.05, { kind: 'error', status: 500, code: 'InternalError' }),
    fault(0.04, { kind: 'error', status: 503, code: 'SlowDown', stage: 'before-body' }),
    fault(0.03, { kind: 'reset' }),
    fault(0.02, { kind: 'reset', stage: 'after-work' }),
    fault(0.03, { kind: 'reset-in-body', bytes: 10_000 }),
    fault(0.005, { kind: 'hang' }),
    fault(0.01, { kind: 'error', status: 500, code: 'InternalError', stage: 'after-work' }),
    fault(0.01, { kind: 'truncate' }),
  ];
  stub.fault({
    operation: 'CompleteMultipartUpload',
    probability: 0.05,
    action: { kind: 'error-in-ok', code: 'InternalError' },
  });

  const good = new Map<string, Buffer>();
  const statuses = new Map<string, number>();
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next++ < uploads) {
      const size = pick([
        0,
        1,
        100,
        partBytes - 1,
        partBytes,
        partBytes + 1,
        3 * partBytes,
        5 * partBytes + 77,
      ]);
      const content = randomFillSync(Buffer.alloc(size));
      const controller = new AbortController();
      // some clients go away at any moment
      if (random() < 0.05) setTimeout(() => controller.abort(), random() * 30);
      try {
        const response = await gateway.upload(content, { signal: controller.signal });
        const body = (await response.json()) as { name: string; code?: string };
        const outcome = `${response.status} ${body.code ?? ''}`;
        statuses.set(outcome, (statuses.get(outcome) ?? 0) + 1);
        if (response.status === 200) good.set(body.name, content);
      } catch {
        statuses.set('gone', (statuses.get('gone') ?? 0) + 1);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  const struck = rules.reduce((sum, { hits }) => sum + hits, 0);
  stub.clearFaults();
  t.comment(`${struck} faults, outcomes ${JSON.stringify(Object.fromEntries(statuses))}`);
  t.ok(struck > uploads * 0.3, 'faults struck');
  t.ok(good.size > uploads / 2, `${good.size} uploads succeeded`);

  // uploads whose client went away end by themselves
  for (let i = 0; i < 400 && gateway.memory.used > 0; i++)
    await new Promise((resolve) => setTimeout(resolve, 50));
  const nameOf = ({ key }: { key: string }): string => key.slice(key.lastIndexOf('/') + 1);
  const withoutRow = (): string[] =>
    stub
      .objects()
      .map(nameOf)
      .filter((name) => !gateway.rows.has(name));
  // faults may strike taking back as well, again and again: what is left then is the janitor's, and it is little
  const left = stub.openUploads().length + withoutRow().length;
  t.ok(left <= uploads / 100, `${left} things were left to the janitor`);
  await new Promise((resolve) => setTimeout(resolve, 1100));
  const janitor = testJanitor({ store, cloudFiles: gateway.cloudFiles });
  t.match(await janitor.run({ dryRun: false }), { failures: 0 });
  // a row is removed by the second run that misses its object
  t.match(await janitor.run({ dryRun: false }), { failures: 0 });

  let different = 0;
  for (const [name, content] of good) {
    const response = await fetch(`${gateway.baseUrl}/_f_/demo/${name}`);
    if (response.status !== 200 || !Buffer.from(await response.arrayBuffer()).equals(content)) different++;
  }
  t.equal(different, 0, 'every 200 is byte-identical on download');
  t.strictSame(withoutRow(), [], 'no object without a row');
  const objects = new Set(stub.objects().map(nameOf));
  t.strictSame(
    [...gateway.rows.keys()].filter((name) => !objects.has(name)),
    [],
    'no row without an object',
  );
  // a client that went away after its upload was complete may have left a whole file with its row
  t.ok(gateway.rows.size - good.size <= (statuses.get('gone') ?? 0) + left);
  t.strictSame(stub.openUploads(), [], 'no open multipart upload');
  t.equal(gateway.memory.used, 0, 'all memory was given back');
});
