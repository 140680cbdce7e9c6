/**
 * Every statement that the services emit, in one store and in a cluster, is collected while everything is done once, and
 * parsed by the real engine. A call of the database in the source that is not among them fails the test.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openChdb } from '../../common/clickhouse/chdb-database.ts';
import { checkServers } from '../../common/clickhouse/check-servers.ts';
import { openClickhouse } from '../../common/clickhouse/clickhouse-database.ts';
import type { Database } from '../../common/clickhouse/database.ts';
import { controlTableNames } from '../../common/clickhouse/topology.ts';
import { migrate } from '../../common/control/migrate.ts';
import { migrations } from '../../common/control/migrations.ts';
import { type QueryDeps, queryRoutes } from '../../query/routes.ts';
import { openAddress } from '../services/clickhouse-address.ts';
import { driveEverything } from '../services/drive-everything.ts';
import { openQueryHarness, type QueryHarness, spaceOf } from '../services/query-harness.ts';
import { structureOf } from '../services/record-client.ts';
import { type Recorded, recordingDatabase } from '../services/recording-database.ts';
import { startChdbServer } from '../services/start-chdb-server.ts';

const root = join(import.meta.dirname, '../..');
const cluster = 'one';

/** `file:line` of every call of a database in the source. */
function callsInSource(): readonly string[] {
  const places: string[] = [];
  for (const room of ['common', 'query', 'gateway']) {
    for (const file of readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })) {
      // the engines themselves, and what passes every statement on to them
      if (!file.endsWith('.ts') || /(chdb-database|clickhouse-database|count-statements)\.ts$/.test(file))
        continue;
      const lines = readFileSync(join(root, room, file), 'utf8').split('\n');
      for (const [index, line] of lines.entries()) {
        if (/\bdb\s*\.(command|rows|stream|insert)\b/.test(line)) places.push(`${room}/${file}:${index + 1}`);
      }
    }
  }
  return places;
}

/** What only several processes at once, or a start on certain servers, come by. Each is parsed elsewhere. */
const elsewhere = [
  // clickhouse-lag.test.ts
  /check-servers\.ts/,
];
const onlyInOneStore = [/initial-records\.ts:\d+/];
const onlyInCluster = [/initial-records-of-shards\.ts:\d+/, /record-table\.ts:\d+/];

async function checkCollection(
  t: Test,
  all: readonly Recorded[],
  called: ReadonlySet<string>,
): Promise<void> {
  const routes = queryRoutes({ config: {}, db: {} } as unknown as QueryDeps);
  const missing = routes.map(({ method, path }) => `${method} ${path}`).filter((route) => !called.has(route));
  t.strictSame(missing, [], 'every operation was done');
  const places = new Set(all.map(({ place }) => place));
  const own = harnessCluster(all) ? onlyInOneStore : onlyInCluster;
  const silent = callsInSource().filter(
    (place) => !places.has(place) && ![...elsewhere, ...own].some((pattern) => pattern.test(place)),
  );
  t.strictSame(silent, [], 'every call in the source was made');
}

const harnessCluster = (all: readonly Recorded[]): boolean =>
  all.some(({ sql }) => sql.includes('ON CLUSTER'));

async function checkParsed(t: Test, parser: Database, all: readonly Recorded[]): Promise<void> {
  const broken: string[] = [];
  for (const sql of new Set(all.map((recorded) => recorded.sql))) {
    await parser.rows({ sql: `EXPLAIN AST ${sql}` }).catch((error: Error) => {
      broken.push(`${error.message.slice(0, 300)} in ${sql.slice(0, 500)}`);
    });
  }
  t.strictSame(broken, [], 'the engine parses them all');
}

/** Reads and writes of one table must go to one home. */
function checkHomes(t: Test, all: readonly Recorded[]): void {
  const strays = all.filter(({ sql, table, place }) => {
    if (place.startsWith('common/control/migrate.ts')) return false;
    const named = /`sluice`\.`records_[0-9a-f]{32}|sluice\.cloud_files/.exec(sql)?.[0];
    const expected = named?.startsWith('`') ? `${named}\`` : named;
    // what is inserted has its table anyway
    return !sql.startsWith('INSERT INTO sluice.') && table !== expected && named !== undefined;
  });
  t.strictSame(
    strays.map(({ place, table }) => `${place} ${table}`),
    [],
    'statements about a table name it',
  );
}

async function collect(open?: () => Promise<Database>): Promise<{
  readonly all: readonly Recorded[];
  readonly called: ReadonlySet<string>;
  readonly parser: Database;
  readonly harness: QueryHarness;
  close(): Promise<void>;
}> {
  let recorded: Recorded[] = [];
  let parser: Database | null = null;
  const harness = await openQueryHarness({
    config: { allowClearAllSpaces: true },
    open: async (dataDir) => {
      const engine = await (open?.() ?? openChdb({ path: join(dataDir, 'chdb') }));
      parser = engine;
      const { db, all } = recordingDatabase(engine, root);
      recorded = all;
      return db;
    },
  });
  const called = await driveEverything(harness);
  return {
    all: recorded,
    called,
    parser: parser as unknown as Database,
    harness,
    close: () => harness.close(),
  };
}

/** So much that one store makes one statement of it. */
async function changeManyAtOnce(harness: QueryHarness): Promise<void> {
  const space = spaceOf(harness, 'p', 'large', structureOf('p', 'large', [{ name: 'text', type: 'TEXT' }]));
  const { body } = await space.insert(Array.from({ length: 40 }, () => ({ text: '' })));
  const text = 'x'.repeat(20_000);
  const changes = (body as { id: string }[]).map(({ id }) => space.updateOneById(id, { text }));
  for (const { status } of await Promise.all(changes))
    if (status !== 200) throw new Error(`update: ${status}`);
}

t.test('one store', async (t) => {
  const { all, called, parser, close } = await collect();
  t.teardown(close);
  await checkCollection(t, all, called);
  await checkParsed(t, parser, all);
  checkHomes(t, all);
  const text = all.map(({ sql }) => sql).join('\n');
  t.notMatch(text, /ON CLUSTER|Replicated|Distributed\(|_local/, 'nothing of a cluster');
  t.comment(
    `${new Set(all.map(({ sql }) => sql)).size} statements from ${new Set(all.map(({ place }) => place)).size} places`,
  );
});

t.test('a cluster', async (t) => {
  const server = await startChdbServer({ cluster });
  // a second address, so that servers are brought up to date
  const second = await openAddress(server.url);
  const url = `${server.url},${second.url}`;
  const alone = (address: string): Database =>
    openClickhouse({ url: address, user: 'default', password: '' });
  await t.resolves(checkServers({ url, database: 'sluice', cluster }, alone, AbortSignal.timeout(10_000)));
  const open = async (): Promise<Database> =>
    openClickhouse({ url, user: 'default', password: '', cluster: { name: cluster, database: 'sluice' } });
  t.teardown(async () => {
    await second.close();
    await server.close();
  });
  const { all, called, parser, harness, close } = await collect(open);
  t.teardown(close);
  await checkCollection(t, all, called);
  checkHomes(t, all);
  // either of the two may be the home
  const seen = [...(await server.seen()).map(({ statement }) => statement), ...second.seen];
  const syncs = seen.filter((statement) => statement.startsWith('SYSTEM SYNC REPLICA'));
  for (const name of controlTableNames) {
    t.ok(syncs.includes(`SYSTEM SYNC REPLICA sluice.${name} LIGHTWEIGHT`), `${name} is caught up with`);
  }
  const beside = [...syncs, "SELECT 1 FROM system.processes WHERE query_id = 'x'\nFORMAT JSONEachRow"];
  await checkParsed(t, parser, [...all, ...beside.map((sql) => ({ sql, table: undefined, place: '' }))]);

  const statements = [...new Set(all.map(({ sql }) => sql))];
  for (const sql of statements) {
    const shown = sql.slice(0, 120);
    if (/^\s*CREATE TABLE/.test(sql)) {
      t.match(sql, / ON CLUSTER `one` \(/, shown);
      t.match(
        sql,
        /ENGINE = (Replicated\w*MergeTree\('\/clickhouse\/tables\/sluice\/|Distributed\('one')/,
        shown,
      );
    }
    // a Distributed table takes none of these
    if (/^\s*(UPDATE|DELETE|TRUNCATE|OPTIMIZE)/.test(sql)) t.match(sql, /_local`? ON CLUSTER `one`/, shown);
    if (/^\s*ALTER TABLE/.test(sql) && !/ADD COLUMN IF NOT EXISTS (initial_records|sealed)/.test(sql)) {
      t.match(sql, / ON CLUSTER `one` /, shown);
    }
  }
  const updates = all.length;
  await changeManyAtOnce(harness);
  const sizes = all.slice(updates).flatMap(({ sql }) => (sql.startsWith('UPDATE') ? [sql.length] : []));
  t.ok(sizes.length > 1 && Math.max(...sizes) < 300_000, `what goes through Keeper is small: ${sizes}`);
  const known = all.length;
  harness.forget();
  await migrate(recordingDatabase(parser, root, all as Recorded[]).db, 'sluice', migrations);
  await changeManyAtOnce(harness);
  const ddl = all.slice(known).filter(({ sql }) => /^\s*(CREATE|ALTER)/.test(sql));
  t.strictSame(ddl, [], 'a process that starts, and a space that it opens, needs no DDL');
  const paths = statements.flatMap((sql) => [...sql.matchAll(/Replicated\w+\('([^']+)', '([^']+)'/g)]);
  for (const [, path = '', replica = ''] of paths) {
    const sharded = /records_|cloud_files/.test(path);
    t.equal(path.includes('/{shard}/'), sharded, path);
    t.equal(replica, sharded ? '{replica}' : '{shard}-{replica}', path);
  }
  t.ok(paths.length > controlTableNames.length);
  t.comment(`${statements.length} statements from ${new Set(all.map(({ place }) => place)).size} places`);
});
