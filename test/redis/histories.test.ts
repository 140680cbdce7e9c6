/**
 * Histories of two processes over two stores and one Redis, which is stopped, slowed, cut off from one of them and
 * restarted in between; a store is killed as well.
 *
 *   HISTORIES=full TEST_SEED=7 npm test -- test/redis/histories.test.ts
 */
import t from 'tap';
import { openAddress } from '../services/clickhouse-address.ts';
import { asksForRare, everyValueIsRare } from '../services/rare-values.ts';
import { recordHistory, requestedHistory } from '../services/record-history.ts';
import { startRedis } from '../services/redis.ts';
import { sendOverHttp } from '../services/send-over-http.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { killAll, startSluice } from '../services/start-sluice.ts';
import { startTcpProxy } from '../services/tcp-proxy.ts';

const { operations, seed } = requestedHistory({ usual: 3000, full: 20_000 });
t.setTimeout(600_000 + operations * 60);

const stores = await Promise.all([startClickhouse(), startClickhouse()]);
// all values count as rare, and a search without the index of values fails
const isScan = /^(?!.*hasAnyTokens)SELECT .*records WHERE .*\b(?:[tnb]\d+|_doc\[[^\]]+\]) (?:=|IN) /s;
const addresses = await Promise.all(stores.map(({ url }) => openAddress(url)));
for (const address of addresses) {
  const always = { times: Number.POSITIVE_INFINITY };
  const rowsOf = (sql: string): string =>
    (everyValueIsRare(sql) ?? []).map((row) => `${JSON.stringify(row)}\n`).join('');
  address.fault({ match: asksForRare, ...always, action: { kind: 'status', status: 200, body: rowsOf } });
  address.fault({
    match: isScan,
    ...always,
    action: { kind: 'status', status: 500, body: 'a scan', code: 36 },
  });
}
const redis = await startRedis();
// the second process reaches Redis over a line of its own
const proxy = await startTcpProxy({ target: redis.config });
const database = {
  CLICKHOUSE_URL: addresses.map(({ url }) => url).join(';'),
  CLICKHOUSE_DATABASE: 'histories',
};
const [a, b] = await Promise.all(
  [redis.url, `redis://127.0.0.1:${proxy.port}`].map((url) =>
    startSluice({ script: 'query/main.ts', env: { ...database, REDIS_URL: url } }),
  ),
);
if (a === undefined || b === undefined) throw new Error('two processes were started');
t.teardown(async () => {
  await killAll([a, b]);
  for (const address of addresses) await address.close();
  for (const store of stores) await store.close();
  await redis.stop();
  await proxy.close();
});

const bothWays = ['toClient', 'toTarget'] as const;
const freeze = (frozen: boolean): void => {
  for (const direction of bothWays) proxy.set(direction, { frozen });
};

/** What happens to Redis while the histories run, one after the other, each for a share of them. */
const troubles: readonly { readonly name: string; begin(): unknown; end(): unknown }[] = [
  { name: 'well', begin: () => {}, end: () => {} },
  { name: 'stopped', begin: redis.pause, end: redis.resume },
  {
    name: 'slow',
    begin: () => proxy.set('toClient', { delayMs: 150 }),
    end: () => proxy.set('toClient', { delayMs: 0 }),
  },
  { name: 'killed and started', begin: redis.kill, end: redis.start },
  { name: 'away for one of them', begin: () => freeze(true), end: () => freeze(false) },
  {
    name: 'restarted empty',
    begin: async () => {
      await redis.kill();
      await redis.start();
    },
    end: () => {},
  },
  {
    name: 'a store killed and started',
    begin: stores[1].kill,
    async end() {
      stores[1] = await stores[1].restart();
    },
  },
  { name: 'well again', begin: () => {}, end: () => {} },
];

/** Reads that the process answered from what it kept. */
async function hitsOf({ baseUrl }: { readonly baseUrl: string }): Promise<number> {
  const text = await (await fetch(`${baseUrl}/metrics`)).text();
  return Number(
    /^sluice_cache_requests_total\{cache="records",result="hit"[^}]*\} (\d+)/m.exec(text)?.[1] ?? 0,
  );
}

t.test('histories of two processes are linearizable, whatever Redis does', async (t) => {
  let current = -1;
  let hits = 0;
  /** Of what happened before. */
  const countHits = async (): Promise<void> => {
    const all = (await hitsOf(a)) + (await hitsOf(b));
    if (current >= 0) t.comment(`${all - hits} hits`);
    hits = all;
  };
  // one after the other: a server that is started has to be there before it is stopped
  let changing: Promise<unknown> = Promise.resolve();
  const { problems, reads, writes, unknown, outcomes } = await recordHistory({
    processes: [sendOverHttp(() => a), sendOverHttp(() => b)],
    operations,
    seed,
    slug: 'histories',
    // results are kept from the sixth second without a write
    writeShare: () => (Date.now() % 8000 < 1000 ? 0.2 : 0),
    workers: 16,
    // so that there are such seconds, however fast the machine is
    pause: 200,
    onProgress: (share) => {
      const next = Math.min(troubles.length - 1, Math.floor(share * troubles.length));
      if (next === current) return;
      const [before, after] = [troubles[current], troubles[next]];
      current = next;
      changing = changing
        .then(countHits)
        .then(() => before?.end())
        .then(() => after?.begin());
      t.comment(`${Math.round(share * 100)} %: Redis is ${after?.name}`);
    },
  });
  await changing;
  await countHits();
  t.strictSame(problems, []);
  t.comment(`${hits} of ${reads} reads were answered from the cache`);
  t.ok(hits > 0);
  t.equal(current, troubles.length - 1);
  const statements = addresses.map(({ seen }) => seen.map(({ statement }) => statement));
  const found = statements.map((all) => all.filter((one) => one.includes('hasAnyTokens')).length);
  t.ok(Math.max(...found) > 0, `${found} searches by the index of values`);
  t.strictSame(
    statements.flat().filter((one) => isScan.test(one)),
    [],
  );
  t.comment(`seed ${seed}: ${writes} writes, ${unknown} of unknown outcome, ${reads} reads`);
  t.comment(JSON.stringify([...outcomes]));
});
