/** The embedded engine as a `Database`. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { loadChdb } from '#engine/chdb-sessions.ts';
import { openChdb } from '#engine/open-chdb.ts';
import { databaseContract } from './database-contract.ts';

// the engine of a process has one directory at a time
const dataDir = await mkdtemp(join(tmpdir(), 'sluice-contract-'));
const db = openChdb({ path: join(dataDir, 'chdb') });
t.teardown(async () => {
  await db.close();
  await rm(dataDir, { recursive: true, force: true });
});

databaseContract(t, async () => {
  await db.command({ sql: 'DROP DATABASE IF EXISTS contract' });
  return db;
});

t.test('many rows never become a text of the event loop', async (t) => {
  await db.command({ sql: 'DROP DATABASE IF EXISTS contract' });
  await db.command({ sql: 'CREATE DATABASE contract' });
  await db.command({
    sql: `CREATE TABLE contract.large (i UInt32, s String) ENGINE = MergeTree ORDER BY i
      SETTINGS non_replicated_deduplication_window = 10`,
  });
  const { prototype } = loadChdb().Session;
  const { queryAsync } = prototype;
  let longest = 0;
  prototype.queryAsync = function (sql, options) {
    longest = Math.max(longest, sql.length);
    return queryAsync.call(this, sql, options);
  };
  t.teardown(() => {
    prototype.queryAsync = queryAsync;
  });
  const value = 'ä'.repeat(100);
  const linesFrom = (first: number, line: (i: number) => string): Buffer =>
    Buffer.from(Array.from({ length: 10_000 }, (_, i) => `${line(first + i)}\n`).join(''));
  const byName = (i: number): string => `{"i":${i},"s":"${value}"}`;
  const inColumns = linesFrom(0, (i) => `[${i}, "${value}"]`);
  await db.insert({ table: 'contract.large', columns: ['i', 's'], lines: inColumns });
  await db.insert({ table: 'contract.large', lines: linesFrom(10_000, byName) });
  // with its token once, however often it is sent
  const lines = linesFrom(20_000, byName);
  for (let i = 0; i < 2; i++) await db.insert({ table: 'contract.large', lines, token: `it's a \\ token` });
  t.ok(longest < 10_000, `${longest}`);
  const counts = `toFloat64(count()) AS n, toFloat64(countIf(s = '${value}')) AS right`;
  t.strictSame(await db.rows({ sql: `SELECT ${counts} FROM contract.large` }), [
    { n: 30_000, right: 30_000 },
  ]);
});
