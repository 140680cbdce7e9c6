/** Two addresses of one engine, of which one fails in every way while requests run. */
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { UnknownOutcome } from '#kernel/errors/unknown-outcome.ts';
import { type FaultAction, openAddress } from '../services/clickhouse-address.ts';
import { openQueryHarness, spaceOf } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { openTestClickhouse } from '../services/test-clickhouse.ts';

const server = await startClickhouse();
const addresses = [await openAddress(server.url), await openAddress(server.url)] as const;
const changes: string[] = [];
const log = {
  warn: (fields: object) => void changes.push(`aside ${(fields as { url: string }).url}`),
  info: (fields: object) => void changes.push(`back ${(fields as { url: string }).url}`),
};
const times = { firstPause: 40, longestPause: 300, probeLimit: 800, patience: 300 };
const harness = await openQueryHarness({
  open: async () =>
    openTestClickhouse({
      url: addresses.map(({ url }) => url).join(),
      log: log as never,
      times,
    }),
});
t.teardown(async () => {
  await harness.close();
  for (const address of addresses) await address.close();
  await server.close();
});

const structure = structureOf('p', 'numbers', fieldsOf('n NUMBER required, text TEXT'));
const space = spaceOf(harness, 'p', 'numbers', structure);
let next = 0;

/** What came of inserts: `stored` are acknowledged, `unknown` are not. */
const stored: number[] = [];
const unknown: number[] = [];
const count = { finds: 0, failedFinds: 0, stale: 0, refused: 0, updates: 0, unknownUpdates: 0 };
const failures: string[] = [];
/** The kind of fault that is set. */
let current = '';

async function insertAndFind(): Promise<void> {
  const n = ++next;
  try {
    const answer = await space.insertOne({ n });
    if (answer.status !== 200) {
      count.refused++;
      failures.push(`insert ${answer.status} ${answer.code}`);
      return;
    }
    stored.push(n);
  } catch (error) {
    if (!(error instanceof UnknownOutcome)) throw error;
    unknown.push(n);
    return;
  }
  const found = await find(n);
  if (found === null) return;
  if (found.length !== 1) count.stale++;
  const text = `changed ${n}`;
  try {
    const updated = await space.updateOneById(found[0]?.id as string, { text });
    if (updated.status !== 200) return void count.refused++;
    count.updates++;
  } catch (error) {
    if (!(error instanceof UnknownOutcome)) throw error;
    return void count.unknownUpdates++;
  }
  const after = await find(n);
  if (after !== null && after[0]?.text !== text) count.stale++;
}

async function find(n: number): Promise<{ id: string; text: string | null }[] | null> {
  count.finds++;
  try {
    const answer = await space.find(`n=${n}`);
    if (answer.status === 200) return answer.body;
    failures.push(`find ${answer.status} ${answer.code} under ${current}`);
  } catch (error) {
    failures.push(`find ${(error as Error).message} under ${current}`);
  }
  count.failedFinds++;
  return null;
}

const busy = 'Code: 202. DB::Exception: Too many simultaneous queries. (TOO_MANY_SIMULTANEOUS_QUERIES)';
/** Not the probes: the server comes back soon, and is struck again. */
const statements = /^(?!SELECT 1\n)/;
const writes = /^(INSERT|UPDATE)/;
const faults: readonly ((FaultAction | { readonly kind: 'dead' }) & { readonly match?: RegExp })[] = [
  { kind: 'dead' },
  { kind: 'status', status: 500, body: busy, code: 202, match: statements },
  { kind: 'status', status: 502, body: '<html>Bad Gateway</html>', match: statements },
  { kind: 'cut-before', match: statements },
  { kind: 'cut-before', match: writes },
  { kind: 'cut-after', match: writes },
  { kind: 'cut-after', match: statements },
  { kind: 'cut-middle', match: /^SELECT concat/ },
  { kind: 'delay', milliseconds: 60 },
  { kind: 'silent' },
];

t.test('one of two addresses fails in every way under load', async (t) => {
  t.equal((await space.insertOne({ n: 0 })).status, 200);
  stored.push(0);
  for (const fault of faults) {
    for (const address of addresses) {
      let over = false;
      const workers = Array.from({ length: 6 }, async () => {
        while (!over) await insertAndFind();
      });
      await delay(100);
      current = fault.kind;
      address.match = fault.match;
      await address.set(fault);
      await delay(fault.kind === 'silent' ? 1600 : 450);
      await address.set(null);
      over = true;
      await Promise.all(workers);
    }
  }
  const rows = (await space.find('')).body as { n: number }[];
  const times = new Map<number, number>();
  for (const { n } of rows) times.set(n, (times.get(n) ?? 0) + 1);
  const lost = stored.filter((n) => times.get(n) === undefined);
  const doubled = [...times].filter(([, how]) => how > 1);
  t.strictSame(lost, [], 'no acknowledged insert is lost');
  t.strictSame(doubled, [], 'none is there twice');
  t.equal(count.failedFinds, 0, 'no find failed');
  t.equal(count.stale, 0, 'every find saw what its client had written');
  t.equal(count.refused, 0, 'no write was refused while a server was well');
  t.ok(stored.length > 100, 'it was load');
  const struck = new Map<string, number>();
  for (const address of addresses) {
    for (const [kind, how] of address.struck) struck.set(kind, (struck.get(kind) ?? 0) + how);
  }
  for (const { kind } of faults) t.ok((struck.get(kind) ?? 0) > 0, `${kind} struck`);
  t.strictSame(failures, []);
  t.comment(
    JSON.stringify({
      stored: stored.length,
      unknown: unknown.length,
      unknownThatAreThere: unknown.filter((n) => times.has(n)).length,
      ...count,
      aside: changes.filter((change) => change.startsWith('aside')).length,
      back: changes.filter((change) => change.startsWith('back')).length,
      struck: Object.fromEntries(struck),
    }),
  );
});
