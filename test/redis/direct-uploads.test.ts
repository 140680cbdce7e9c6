/** Direct uploads that end at two gateways at once, over one Redis and one bucket. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { openRedis } from '#coordination/redis/open-redis.ts';
import { redisLeases } from '#gateway/resumable/upload-leases.ts';
import { DirectClient } from '../services/direct-client.ts';
import { serveGatewayOn } from '../services/gateway-on-s3.ts';
import { testDeployment } from '../services/new-file.ts';
import { randomFrom } from '../services/random-from.ts';
import { type RedisServer, startRedis } from '../services/redis.ts';
import { silentLog } from '../services/silent-log.ts';
import { openStubStore } from '../services/stub-store.ts';
import { filesInMemory } from '../services/test-gateway.ts';
import { testJanitor } from '../services/test-janitor.ts';
import { seed } from '../services/test-size.ts';

/** Milliseconds. A machine that is busy makes Redis slow, and then gateways go on without it. */
const patient = { connect: 10_000, command: 10_000, backoff: 50 };
const quick = { connect: 1000, command: 200, backoff: 50 };
const day = 86_400_000;
const rounds = Number(process.env.ROUNDS ?? 20);

async function setUp(
  t: Test,
  { inParts, timing = patient }: { readonly inParts: boolean; readonly timing?: typeof patient },
) {
  const redis = await startRedis();
  t.teardown(() => redis.stop());
  const { store, stub } = await openStubStore(t, {
    stub: { md5Etags: true, ignores: inParts ? ['if-none-match'] : [] },
    deploymentId: testDeployment,
  });
  const { rows, cloudFiles } = filesInMemory();
  const inserted = new Map<string, number>();
  const counted: typeof cloudFiles = {
    ...cloudFiles,
    async insert(file, signal) {
      inserted.set(file.name, (inserted.get(file.name) ?? 0) + 1);
      await cloudFiles.insert(file, signal);
    },
  };
  const serve = async () => {
    const log = silentLog();
    const connection = await openRedis(redis.config, log, timing);
    t.teardown(() => connection.close());
    return serveGatewayOn(t, store, {
      expireAfter: day,
      leases: redisLeases({ redis: connection, log }),
      rows: { rows, cloudFiles: counted },
    });
  };
  const [a, b] = [await serve(), await serve()];
  const [one, two] = [new DirectClient(a.baseUrl), new DirectClient(b.baseUrl)];
  const planned = async () => {
    const bytes = randomBytes(1000);
    const plan = await one.plan({ size: bytes.length });
    await one.send(plan, bytes);
    return { plan, bytes };
  };
  /** What is stored a day later, that is no file. */
  const leftLater = async (): Promise<string[]> => {
    await a.plans.settle();
    await b.plans.settle();
    stub.age(2 * day);
    for (const run of ['first', 'second']) {
      const janitor = testJanitor({ store, cloudFiles, plans: a.plans, staleAfter: day, grace: 0 });
      t.match(await janitor.run({ dryRun: false }), { failures: 0, rowsMade: 0 }, run);
    }
    const files = new Set([...rows.values()].map(({ objectKey }) => objectKey));
    const keys = [...stub.objects(), ...stub.openUploads()].map(({ key }) => key);
    return keys.filter((key) => !files.has(key));
  };
  return { redis, one, two, planned, rows, inserted, leftLater };
}

for (const [name, inParts] of [
  ['objects that are sent at once', false],
  ['multipart uploads', true],
] as const) {
  t.test(`${name}: two completions at once make one row`, async (t) => {
    const { one, two, planned, inserted, leftLater } = await setUp(t, { inParts });
    for (let round = 0; round < rounds; round++) {
      const { plan, bytes } = await planned();
      const answers = await Promise.all([one, two, one, two].map((at) => at.complete(plan)));
      for (const { status, body } of answers) {
        t.equal(status, 200);
        t.strictSame(body, answers[0]?.body, 'the same file');
      }
      t.equal(inserted.get(plan.id), 1);
      t.strictSame(await two.bytesOf(plan.id), bytes);
    }
    t.strictSame(await leftLater(), []);
  });

  t.test(`${name}: of a completion and a drop one is first`, async (t) => {
    const { one, two, planned, rows, leftLater } = await setUp(t, { inParts });
    const random = randomFrom(seed);
    const results = new Map<string, number>();
    for (let round = 0; round < rounds; round++) {
      const { plan, bytes } = await planned();
      const [done, dropped] = await Promise.all([
        sleep(random() * 10).then(() => one.complete(plan)),
        sleep(random() * 10).then(() => two.drop(plan)),
      ]);
      const result = `${done.status} ${dropped.status}`;
      results.set(result, (results.get(result) ?? 0) + 1);
      t.match(result, /^(200 409|404 204)$/, JSON.stringify([done.body, dropped.body]));
      const isFile = done.status === 200;
      t.equal(rows.has(plan.id), isFile);
      t.strictSame(await one.bytesOf(plan.id), isFile ? bytes : null);
    }
    t.comment(Object.fromEntries(results));
    t.strictSame(await leftLater(), []);
  });

  t.test(`${name}: nothing that is acknowledged is lost while Redis comes and goes`, async (t) => {
    const { redis, one, two, planned, rows, leftLater } = await setUp(t, { inParts, timing: quick });
    const random = randomFrom(seed);
    const files = new Map<string, Buffer>();
    const faults: readonly ((redis: RedisServer) => Promise<void>)[] = [
      (server) => server.kill(),
      (server) => server.start(),
      async (server) => server.pause(),
      async (server) => server.resume(),
    ];
    for (let round = 0; round < 2 * rounds; round++) {
      const { plan, bytes } = await planned();
      const after = () => sleep(random() * 20);
      const [first, second, dropped] = await Promise.all([
        after().then(() => one.complete(plan)),
        after().then(() => two.complete(plan)),
        round % 2 === 0 ? after().then(() => two.drop(plan)) : null,
        after().then(() => faults[round % faults.length]?.(redis)),
      ]);
      const statuses = [first, second].map(({ status }) => status);
      t.ok(
        statuses.every((status) => [200, 404, 503].includes(status)),
        JSON.stringify([first, second]),
      );
      if (statuses.includes(200)) files.set(plan.id, bytes);
      else if (dropped?.status === 204) t.equal(rows.has(plan.id), false, 'what is dropped is no file');
    }
    t.strictSame(await leftLater(), []);
    for (const [id, bytes] of files) t.strictSame(await one.bytesOf(id), bytes, id);
    t.equal(rows.size, files.size);
  });
}
