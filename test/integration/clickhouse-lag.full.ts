/** A replica that is behind is not read before it has caught up. */
import { readFile } from 'node:fs/promises';
import t, { type Test } from 'tap';
import { checkServers } from '../../common/clickhouse/check-servers.ts';
import type { Database } from '../../common/clickhouse/database.ts';
import { UnknownOutcome } from '../../common/clickhouse/unknown-outcome.ts';
import { certificateFor } from '../services/certificate.ts';
import { type ClickhouseAddress, openAddress } from '../services/clickhouse-address.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { startChdbServer } from '../services/start-chdb-server.ts';
import { openTestClickhouse } from '../services/test-clickhouse.ts';

const server = await startChdbServer();
t.teardown(() => server.close());
// a sharded table, and the home that its statements name
const tableHome = 'cloud_files';
const table = `lag.${tableHome}`;
const times = { firstPause: 250, longestPause: 500, probeLimit: 1000, patience: 1000, catchUp: 400 };
const setUp = openTestClickhouse({ url: server.url });
await setUp.command({ sql: 'CREATE DATABASE lag' });
for (const name of [tableHome, 'old']) {
  await setUp.command({ sql: `CREATE TABLE lag.${name} (i UInt32) ENGINE = MergeTree ORDER BY i` });
}
await setUp.close();

interface Pair {
  readonly db: Database;
  /** Where the table is read and written as long as all is well. */
  readonly home: ClickhouseAddress;
  readonly other: ClickhouseAddress;
}

/** Two servers of a cluster, as far as their addresses show. */
async function openPair(t: Test): Promise<Pair> {
  const [a, b] = [await openAddress(server.url), await openAddress(server.url)];
  const url = `${a.url},${b.url}`;
  const db = openTestClickhouse({ url, times, cluster: { name: 'c', database: 'lag' } });
  t.teardown(async () => {
    await db.close();
    await a.close();
    await b.close();
  });
  await db.rows({ sql: 'SELECT 1', home: tableHome });
  const [home, other] = a.seen.length > 0 ? [a, b] : [b, a];
  t.equal(other.seen.length, 0, 'a table has one home');
  return { db, home, other };
}

let next = 0;
const insert = async (db: Database): Promise<number> => {
  const i = ++next;
  await db.insert({ table, columns: ['i'], lines: Buffer.from(`[${i}]\n`), home: tableHome });
  return i;
};
const isThere = async (db: Database, i: number): Promise<boolean> =>
  (await db.rows({ sql: `SELECT i FROM ${table} WHERE i = ${i}`, home: tableHome })).length === 1;
const lag = { table, old: 'lag.old' };
const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10));
};

t.test('what was written is seen after a failover, and after the way back', async (t) => {
  const { db, home, other } = await openPair(t);
  const first = await insert(db);
  t.ok(await isThere(db, first));
  t.match(home.seen[0], 'SYSTEM SYNC REPLICA lag.cloud_files_local LIGHTWEIGHT');
  other.lag = lag;
  await home.set({ kind: 'dead' });
  t.ok(await isThere(db, first), 'the other one was asked to catch up first');
  t.equal(other.lag, null);
  const second = await insert(db);
  t.ok(await isThere(db, second));
  // the home comes back, and has nothing of that yet
  home.lag = lag;
  home.seen.length = 0;
  await home.set(null);
  await until(async () => {
    t.ok(await isThere(db, second));
    return home.seen.some((statement) => statement.includes('lag'));
  });
  t.ok(await isThere(db, second));
  t.equal(home.lag, null, 'it was asked to catch up, too');
});

t.test('a replica that does not catch up is not read', async (t) => {
  const { db, home, other } = await openPair(t);
  const first = await insert(db);
  other.lag = lag;
  other.match = /SYSTEM SYNC/;
  await other.set({ kind: 'silent' });
  await home.set({ kind: 'dead' });
  t.match(await rejectionOf(isThere(db, first)), { status: 503, code: 'not_ready' });
  await other.set(null);
  await until(() => isThere(db, first).catch(() => false));
  t.equal(other.lag, null);
});

t.test('without SYSTEM SYNC REPLICA the read would be stale: the stub does lag', async (t) => {
  const { db, home, other } = await openPair(t);
  const first = await insert(db);
  other.lag = lag;
  const alone = openTestClickhouse({ url: other.url });
  t.teardown(() => alone.close());
  t.notOk(await isThere(alone, first));
  t.ok(await isThere(db, first));
  t.ok(home.seen.length > 0);
});

t.test('an INSERT in a cluster is sent again under its own token until it is acknowledged', async (t) => {
  const { db, home, other } = await openPair(t);
  home.match = /^INSERT/;
  await server.clear();
  await home.set({ kind: 'cut-before' });
  const i = await insert(db);
  t.ok(await isThere(db, i));
  const tokens = (await server.seen())
    .filter(({ statement }) => statement.startsWith('INSERT'))
    .map(({ params }) => params.insert_deduplication_token);
  t.equal(tokens.length, 1, 'the other server got it');
  t.match(tokens[0], /^[0-9a-f-]{36}$/);
  t.equal(home.struck.get('cut-before'), 1);
  other.match = /^INSERT/;
  await home.set({ kind: 'cut-before' });
  await other.set({ kind: 'cut-before' });
  t.ok(
    (await rejectionOf(insert(db))) instanceof UnknownOutcome,
    'and when none acknowledges it, nobody knows',
  );
});

t.test('an INSERT of which a shard failed has an unknown outcome, one that is wrong has none', async (t) => {
  const { db, home, other } = await openPair(t);
  for (const address of [home, other]) {
    address.match = /^INSERT/;
    const body =
      'Code: 210. DB::NetException: Connection reset by peer: while sending to shard 2. (NETWORK_ERROR)';
    await address.set({ kind: 'status', status: 500, body, code: 210 });
  }
  t.ok((await rejectionOf(insert(db))) instanceof UnknownOutcome);
  t.ok((home.struck.get('status') ?? 0) > 1, 'it was tried again');
  for (const address of [home, other]) await address.set(null);
  const wrong = await rejectionOf(db.insert({ table, columns: ['no_column'], lines: Buffer.from('[1]\n') }));
  t.notOk(wrong instanceof UnknownOutcome);
});

t.test('servers that share no tables are refused, and so is a cluster that nobody knows', async (t) => {
  const looks = (rows: readonly object[]) => {
    let index = 0;
    return () => {
      const row = rows[index++ % rows.length] as object;
      return { rows: async () => [row], close: async () => {} } as unknown as Database;
    };
  };
  const config = { url: 'http://a,http://b', database: 'sluice', cluster: undefined };
  const signal = AbortSignal.timeout(1000);
  const check = (rows: readonly object[], cluster?: string): Promise<void> =>
    checkServers({ ...config, cluster }, looks(rows), signal);
  const [one, two] = [
    { server: '1', engine: 'ReplacingMergeTree', shards: 0 },
    { server: '2', engine: 'ReplacingMergeTree', shards: 0 },
  ];
  await t.rejects(check([one, two]), /share no tables/);
  await t.resolves(check([one, one]), 'one server has two addresses');
  const shared = { engine: 'SharedReplacingMergeTree' };
  await t.resolves(
    check([
      { ...one, ...shared },
      { ...two, ...shared },
    ]),
  );
  await t.rejects(check([one, two], 'c'), /knows no cluster c/);
  const good = { ...one, shards: 2, replicating: 2, macros: ['replica', 'shard'] };
  await t.resolves(check([good, { ...good, server: '2' }], 'c'));
  await t.rejects(check([good, { ...good, macros: ['shard'] }], 'c'), /lacks the macros/);
  await t.rejects(check([good, { ...good, replicating: 1 }], 'c'), /needs internal_replication/);
  // the statement itself, by the real engine
  await t.resolves(
    checkServers(
      { ...config, url: `${server.url},${server.url}` },
      (url) => openTestClickhouse({ url }),
      signal,
    ),
  );
});

t.test('a server of which all connections are held by slow statements is not given up', async (t) => {
  const addresses = [await openAddress(server.url), await openAddress(server.url)];
  const changes: string[] = [];
  const note = (_: object, text: string): void => void changes.push(text);
  const db = openTestClickhouse({
    url: addresses.map(({ url }) => url).join(),
    log: { warn: note, info: note } as never,
    times: { patience: 100, probeLimit: 1000 },
  });
  t.teardown(async () => {
    await db.close();
    for (const address of addresses) await address.close();
  });
  for (const address of addresses) {
    address.match = /FROM numbers/;
    await address.set({ kind: 'delay', milliseconds: 1600 });
  }
  // more than there are connections to their home
  const rows = await Promise.all(
    Array.from({ length: 50 }, () => db.rows({ sql: 'SELECT number FROM numbers(1)' })),
  );
  t.equal(rows.flat().length, 50);
  t.strictSame(changes, []);
});

t.test('TLS with a certificate of a private authority', async (t) => {
  const { certFile, keyFile } = await certificateFor(t);
  const ca = await readFile(certFile);
  const address = await openAddress(server.url, { cert: ca, key: await readFile(keyFile) });
  const known = openTestClickhouse({ url: address.url, ca });
  const unknown = openTestClickhouse({ url: address.url });
  t.teardown(async () => {
    await known.close();
    await unknown.close();
    await address.close();
  });
  t.strictSame(await known.rows({ sql: 'SELECT 1 AS one' }), [{ one: 1 }]);
  const error = await rejectionOf(unknown.rows({ sql: 'SELECT 1' }));
  t.match(error, { status: 503, cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } });
});
