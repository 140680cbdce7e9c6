/**
 * Every statement that the services emit, in one store and in a cluster, is collected while everything is done once, and
 * parsed by the real engine. Those about records say of which space they are, and ask one shard. A call of the database in
 * the source that is not among them fails the test.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { openChdb } from '../../common/clickhouse/chdb-database.ts';
import { checkServers } from '../../common/clickhouse/check-servers.ts';
import { clusterSettings } from '../../common/clickhouse/cluster-settings.ts';
import type { Database } from '../../common/clickhouse/database.ts';
import { engineSettings } from '../../common/clickhouse/engine-settings.ts';
import { metadataTableNames, shardedTableNames } from '../../common/clickhouse/topology.ts';
import { migrate } from '../../common/metadata/migrate.ts';
import { migrations } from '../../common/metadata/migrations.ts';
import { webhookRoutes } from '../../events/webhook-routes.ts';
import { openAddress } from '../services/clickhouse-address.ts';
import { driveEverything } from '../services/drive-everything.ts';
import { untouchedQueryRoutes } from '../services/plain-store.ts';
import { openQueryHarness, type QueryHarness, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';
import { type Recorded, recordingDatabase } from '../services/recording-database.ts';
import { spaceProblem } from '../services/space-guard.ts';
import { startChdbServer } from '../services/start-chdb-server.ts';
import { openTestClickhouse } from '../services/test-clickhouse.ts';

const root = join(import.meta.dirname, '../..');
const cluster = 'one';
const forever = Number.POSITIVE_INFINITY;

/** Every call of a database in the source: `file:line`, and what that line says. */
function callsInSource(): readonly { readonly place: string; readonly text: string }[] {
  const calls: { place: string; text: string }[] = [];
  for (const room of ['common', 'events', 'query', 'gateway', 'console']) {
    for (const file of readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })) {
      // the engines themselves, and what passes every statement on to them
      if (!file.endsWith('.ts') || /(chdb-database|clickhouse-database|count-statements)\.ts$/.test(file))
        continue;
      const lines = readFileSync(join(root, room, file), 'utf8').split('\n');
      for (const [index, text] of lines.entries()) {
        if (/\bdb\s*\.(command|rows|stream|insert)\b/.test(text))
          calls.push({ place: `${room}/${file}:${index + 1}`, text });
      }
    }
  }
  return calls;
}

/** What only several processes at once, or a start on certain servers, come by. Each is parsed elsewhere. */
const elsewhere = [
  // hands on what others ask; what it asks after a crash is tested there (pending-records.full.ts)
  /store-embedded\/pending-records\.ts:\d+/,
  /store-embedded\/store-writes\.ts:\d+ .*table\.selectByIds\(/,
  // clickhouse-lag.full.ts
  /check-servers\.ts/,
];
/** What is done only by a process that has the store to itself: keys of values that are stored already, and their filter. */
const onlyAlone = [
  /space\/catalogue-versions\.ts:\d+ .*table\.addKeys\(/,
  /space\/logged-catalogue\.ts:\d+/,
  /clickhouse\/id-filter\.ts:\d+/,
  /store-embedded\/space-preloads\.ts:\d+/,
  /store-embedded\/key-filter\.ts:\d+/,
  /store-embedded\/store-writes\.ts:\d+/,
];
/** What is done only where several processes write to the store. */
const onlyShared = [
  /store\/change-commit\.ts:\d+/,
  /store\/statement-writes\.ts:\d+/,
  /space\/table-catalogue\.ts:\d+/,
];

async function checkCollection(
  t: Test,
  all: readonly Recorded[],
  called: ReadonlySet<string>,
): Promise<void> {
  const routes = [...untouchedQueryRoutes(), ...webhookRoutes({} as never)];
  const missing = routes.map(({ method, path }) => `${method} ${path}`).filter((route) => !called.has(route));
  t.strictSame(missing, [], 'every operation was done');
  const places = new Set(all.map(({ place }) => place));
  const own = all.some(({ sql }) => sql.includes('ON CLUSTER')) ? onlyAlone : onlyShared;
  const silent = callsInSource().filter(
    ({ place, text }) =>
      !places.has(place) && ![...elsewhere, ...own].some((pattern) => pattern.test(`${place} ${text}`)),
  );
  t.strictSame(silent, [], 'every call in the source was made');
}

async function checkParsed(t: Test, parser: Database, all: readonly Recorded[]): Promise<void> {
  const broken: string[] = [];
  for (const sql of new Set(all.map((recorded) => recorded.sql))) {
    await parser.rows({ sql: `EXPLAIN AST ${sql}` }).catch((error: Error) => {
      broken.push(`${error.message.slice(0, 300)} in ${sql.slice(0, 500)}`);
    });
  }
  t.strictSame(broken, [], 'the engine parses them all');
}

/** What was written is seen where it was written: reads and writes of a sharded table name its home. */
function checkHomes(t: Test, all: readonly Recorded[]): void {
  const strays = all.filter(({ sql, home, place }) => {
    if (place.startsWith('common/metadata/migrate.ts') || sql.startsWith('CREATE')) return false;
    const [, table] = /\bsluice\.(records|record_keys|cloud_files|file_list)(?:_local)?\b/.exec(sql) ?? [];
    const expected = Object.keys(shardedTableNames).find((name) =>
      shardedTableNames[name]?.includes(table ?? ''),
    );
    return home?.split(' ')[0] !== expected;
  });
  t.strictSame(
    strays.map(({ place, home }) => `${place} ${home}`),
    [],
    'statements about a table name its home',
  );
}

/** Rows of all accounts lie in the same tables. */
function checkSpaces(t: Test, all: readonly Recorded[]): void {
  const problems = all.flatMap(({ sql, place }) => {
    const problem = spaceProblem(sql);
    return problem === null ? [] : [`${place} ${problem}`];
  });
  t.strictSame(problems, [], 'every statement about records says of which space they are');
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
    config: { allowClearAllSpaces: true, maxStoredRecordBytes: 2 ** 40 },
    alone: open === undefined,
    // old values of a field with another type are taken away at once
    freshness:
      open === undefined
        ? { freshFor: forever, staleAfter: forever, outdatedAfter: 0 }
        : { freshFor: 50, staleAfter: 200, outdatedAfter: 0 },
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

/**
 * The engine plans every statement that reads or deletes rows of a space over two shards, and fails where it could not tell
 * from the statement alone which shard is asked.
 */
async function checkPlans(t: Test, all: readonly Recorded[]): Promise<void> {
  const server = await startChdbServer({ cluster: 'two', shards: 2 });
  const open = {
    url: server.url,
    cluster: { name: 'two', database: 'sluice' },
  };
  const db = openTestClickhouse(open);
  t.teardown(async () => {
    await db.close();
    await server.close();
  });
  await migrate(db, 'sluice', migrations);
  const plan = async (sql: string, force = 2): Promise<string> => {
    const settings = { ...engineSettings, ...clusterSettings, force_optimize_skip_unused_shards: force };
    const query = new URLSearchParams({ wait_end_of_query: '1' });
    for (const [name, value] of Object.entries(settings)) query.set(name, `${value}`);
    const body = `EXPLAIN PLAN ${sql}`;
    return (await fetch(`${server.url}/?${query}`, { method: 'POST', body })).text();
  };
  const ofAnySpace = 'SELECT _id FROM sluice.records WHERE n0 = 1';
  t.match(await plan(ofAnySpace, 0), /\bUnion\b/, 'several shards show');
  t.match(await plan(ofAnySpace), 'UNABLE_TO_SKIP_UNUSED_SHARDS');
  const reads = new Set(
    all.flatMap(({ sql }) => {
      if (!/\bFROM sluice\.(records|record_keys)\b/.test(sql) || sql.startsWith('CREATE')) return [];
      return sql.slice(sql.indexOf('SELECT')).replace(/\nFORMAT \w+$/, '');
    }),
  );
  const spread: string[] = [];
  for (const sql of reads) {
    const text = await plan(sql);
    if (!text.startsWith('Output: ') || /\bUnion\b/.test(text))
      spread.push(`${sql.slice(0, 300)}: ${text.slice(0, 500)}`);
  }
  t.strictSame(spread, [], 'each asks one shard');
  t.ok(reads.size > 20, `${reads.size} statements`);
  t.ok(
    [...reads].some((sql) => sql.includes('FROM sluice.record_keys')),
    'by keys, too',
  );
}

/** So much that one store makes one statement of it. */
async function changeManyAtOnce(harness: QueryHarness): Promise<void> {
  const space = spaceOf(harness, 'p', 'large', fieldsOf('text TEXT'));
  const { body } = await space.insert(Array.from({ length: 40 }, () => ({ text: '' })));
  const text = 'x'.repeat(20_000);
  const changes = (body as { id: string }[]).map(({ id }) => space.updateOneById(id, { text }));
  for (const { status } of await Promise.all(changes))
    if (status !== 200) throw new Error(`update: ${status}`);
}

t.test('a statement that does not say of which space it is is seen', async (t) => {
  const id = `'018f0000-0000-7000-8000-000000000001'`;
  const records = 'sluice.records';
  const bad = [
    `SELECT _id FROM ${records}`,
    `SELECT _id FROM ${records} WHERE n0 = 1`,
    `SELECT _id FROM ${records} WHERE space = ${id} OR n0 = 1`,
    `SELECT _id FROM ${records} WHERE (space = ${id}) = 0`,
    `SELECT _id FROM ${records} WHERE space != ${id}`,
    `SELECT _id FROM ${records} WHERE space = 'p'`,
    `SELECT _id FROM ${records} WHERE space = space AND n0 = 1`,
    `SELECT 'WHERE space = ${id.replaceAll("'", "\\'")}' FROM ${records}`,
    `SELECT _id FROM ${records} WHERE t0 = ' AND space = ' AND n0 = 1`,
    `SELECT _id FROM ${records} ORDER BY space = ${id} AND 1`,
    `SELECT _id FROM ${records} WHERE (space, _id) IN ((${id}, 'a'))`,
    `SELECT _id FROM ${records} WHERE space IN (${id}, 'b')`,
    `SELECT _id FROM ${records} WHERE space IN (SELECT space FROM sluice.record_keys WHERE space = ${id})`,
    `SELECT _id FROM ${records} WHERE space = ${id} AND _id IN (SELECT _id FROM sluice.record_keys WHERE key IN (1))`,
    `SELECT _id FROM ${records} WHERE space = ${id} UNION ALL SELECT _id FROM sluice.records`,
    `SELECT _id FROM ${records} AS r, ${records} AS s WHERE space = ${id}`,
    `SELECT (SELECT count() FROM ${records}) FROM ${records} WHERE space = ${id}`,
    `SELECT count() FROM ${records}_local`,
    `SELECT count() FROM \`sluice\`.\`records\``,
    `SELECT count() FROM merge('sluice', '^records$'), records`,
    `DELETE FROM ${records} WHERE _id = 'a'`,
    `DELETE FROM ${records}_local ON CLUSTER \`one\` WHERE _id IN ('a') SETTINGS x = 'space = ${id.slice(1)}`,
    `UPDATE ${records} SET space = ${id} WHERE _id = 'a'`,
    `INSERT INTO sluice.record_keys (space, key, _id) SELECT space, 1, _id FROM ${records}`,
    `TRUNCATE TABLE ${records}`,
    `OPTIMIZE TABLE ${records} FINAL`,
  ];
  for (const sql of bad) t.type(spaceProblem(sql), 'string', sql);
  const good = [
    `SELECT _id FROM ${records} WHERE space = ${id}`,
    `SELECT _id FROM ${records} WHERE space = ${id} AND (t0 = 'x' OR n0 = 1) ORDER BY _id LIMIT 1`,
    `SELECT _id FROM ${records} WHERE space = ${id} AND _id IN (SELECT _id FROM sluice.record_keys WHERE space = ${id} AND key IN (1, 2))`,
    `DELETE FROM ${records}_local ON CLUSTER \`one\` WHERE space IN (${id}, ${id}) AND (space, _id) IN ((${id}, 'a')) SETTINGS x = 'y'`,
    `SELECT count() FROM sluice.record_spaces`,
  ];
  for (const sql of good) t.equal(spaceProblem(sql), null, sql);
});

t.test('one store', async (t) => {
  const { all, called, parser, close } = await collect();
  t.teardown(close);
  await checkCollection(t, all, called);
  await checkParsed(t, parser, all);
  checkHomes(t, all);
  checkSpaces(t, all);
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
  const alone = (address: string): Database => openTestClickhouse({ url: address });
  await t.resolves(checkServers({ url, database: 'sluice', cluster }, alone, AbortSignal.timeout(10_000)));
  const open = async (): Promise<Database> =>
    openTestClickhouse({ url, cluster: { name: cluster, database: 'sluice' } });
  t.teardown(async () => {
    await second.close();
    await server.close();
  });
  const { all, called, parser, harness, close } = await collect(open);
  t.teardown(close);
  await checkCollection(t, all, called);
  checkHomes(t, all);
  checkSpaces(t, all);
  // either of the two may be the home
  const seen = [...(await server.seen()).map(({ statement }) => statement), ...second.seen];
  const syncs = seen.filter((statement) => statement.startsWith('SYSTEM SYNC REPLICA'));
  const sharded = Object.values(shardedTableNames).flat();
  for (const name of [...metadataTableNames, ...sharded.map((name) => `${name}_local`)]) {
    t.ok(syncs.includes(`SYSTEM SYNC REPLICA sluice.${name} LIGHTWEIGHT`), `${name} is caught up with`);
  }
  const beside = [...syncs, "SELECT 1 FROM system.processes WHERE query_id = 'x'\nFORMAT JSONEachRow"];
  await checkParsed(t, parser, [...all, ...beside.map((sql) => ({ sql, home: undefined, place: '' }))]);

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
    // a Distributed table takes none of these; a metadata table is whole on every server, and replicated
    const [, table = ''] = /^\s*DELETE FROM sluice\.(\w+) /.exec(sql) ?? [];
    const whole = (metadataTableNames as readonly string[]).includes(table);
    if (/^\s*(UPDATE|DELETE|TRUNCATE|OPTIMIZE)/.test(sql) && !whole)
      t.match(sql, /_local`? ON CLUSTER `one`/, shown);
  }
  const made = all.filter(({ sql }) => /^\s*(CREATE|ALTER|DROP|RENAME|TRUNCATE|OPTIMIZE|ATTACH)\b/.test(sql));
  t.strictSame(
    made.flatMap(({ place }) =>
      /^(common\/metadata\/migrate|query\/space\/space-views)\.ts/.test(place) ? [] : place,
    ),
    [],
    'tables are made by migrations, and views when they are asked for',
  );
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
    const ofShard = sharded.some((name) => path.endsWith(`/${name}_local`));
    t.equal(path.includes('/{shard}/'), ofShard, path);
    t.equal(replica, ofShard ? '{replica}' : '{shard}-{replica}', path);
  }
  t.equal(paths.length, metadataTableNames.length + sharded.length);
  await checkPlans(t, all);
  t.comment(`${statements.length} statements from ${new Set(all.map(({ place }) => place)).size} places`);
});
