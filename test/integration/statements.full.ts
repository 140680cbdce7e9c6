/**
 * Every statement that the services emit, embedded and served, is collected while everything is done once, and
 * parsed by the real engine. Those about records say of which space they are, and ask one shard. A call of the database in
 * the source that is not among them fails the test.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { migrate } from '#catalogue/migrate.ts';
import { migrations } from '#catalogue/migrations.ts';
import type { Database } from '#engine/database.ts';
import { openChdb } from '#engine/open-chdb.ts';
import { webhookRoutes } from '#events/webhook-routes.ts';
import { driveEverything } from '../services/drive-everything.ts';
import { untouchedQueryRoutes } from '../services/plain-store.ts';
import { openQueryHarness, type QueryHarness } from '../services/query-harness.ts';
import { type Recorded, recordingDatabase } from '../services/recording-database.ts';
import { spaceProblem } from '../services/space-guard.ts';
import { startClickhouse } from '../services/start-clickhouse.ts';
import { openTestClickhouse } from '../services/test-clickhouse.ts';

const root = join(import.meta.dirname, '../..');
const forever = Number.POSITIVE_INFINITY;

/** Every call of a database in the source: `file:line`, and what that line says. */
function callsInSource(): readonly { readonly place: string; readonly text: string }[] {
  const calls: { place: string; text: string }[] = [];
  for (const room of ['common', 'events', 'query', 'gateway', 'console']) {
    for (const file of readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })) {
      // the engines themselves, and what passes every statement on to them
      if (
        !file.endsWith('.ts') ||
        /(open-chdb|open-clickhouse|clickhouse-stores|count-statements)\.ts$/.test(file)
      )
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
  /store-embedded\/store-(?:writes|blocks)\.ts:\d+ .*table\.selectByIds\(/,
  // update-values.test.ts
  /store\/update-values\.ts/,
  // clickhouse-addresses.full.ts
  /check-servers\.ts/,
  // import-kill.full.ts
  /imports\/jobs\/import-records\.ts:\d+ .*(?:const \[found\]|found\?\.records)/,
  /imports\/jobs\/job-table\.ts:\d+/,
  // added-columns.test.ts
  /imports\/jobs\/attach-staged\.ts:\d+ .*staged\.widen\(/,
  // several-stores.test.ts
  /common\/catalogue\/stores\/|space\/(move-space|records-copy)\.ts|TableCatalogue.*leftByMoves/,
];
/** What is done only by a process that has the store to itself: keys of values that are stored already, and their filter. */
const onlyAlone = [
  /space\/catalogue-versions\.ts:\d+ .*table\.addKeys\(/,
  /space\/logged-catalogue\.ts:\d+/,
  /engine\/id-filter\.ts:\d+/,
  /store-embedded\/space-preloads\.ts:\d+/,
  /store-embedded\/key-filter\.ts:\d+/,
  /store-embedded\/store-(?:writes|blocks)\.ts:\d+/,
];
/** What is done only where several processes write to the store. */
const onlyShared = [
  /store\/(?:change-commit|rows-by-id)\.ts:\d+/,
  /store\/statement-writes\.ts:\d+/,
  /space\/table-catalogue\.ts:\d+/,
];

async function checkCollection(
  t: Test,
  all: readonly Recorded[],
  called: ReadonlySet<string>,
  own: readonly RegExp[],
): Promise<void> {
  const routes = [...untouchedQueryRoutes(), ...webhookRoutes({} as never)];
  const missing = routes.map(({ method, path }) => `${method} ${path}`).filter((route) => !called.has(route));
  t.strictSame(missing, [], 'every operation was done');
  const places = new Set(all.map(({ place }) => place));
  const silent = callsInSource().filter(
    ({ place, text }) =>
      !places.has(place) && ![...elsewhere, ...own].some((pattern) => pattern.test(`${place} ${text}`)),
  );
  t.strictSame(silent, [], 'every call in the source was made');
}

/** @param explain rejects when the engine can't parse a statement */
async function checkParsed(
  t: Test,
  explain: (sql: string) => Promise<unknown>,
  all: readonly Recorded[],
): Promise<void> {
  const broken: string[] = [];
  for (const sql of new Set(all.map((recorded) => recorded.sql))) {
    await explain(`EXPLAIN AST ${sql}`).catch((error: Error) => {
      broken.push(`${error.message.slice(0, 300)} in ${sql.slice(0, 500)}`);
    });
  }
  t.strictSame(broken, [], 'the engine parses them all');
}

/** The home of tables that have one of their own. */
const homes: Readonly<Record<string, string>> = {
  import: 'records',
  records: 'records',
  record_keys: 'records',
  cloud_files: 'cloud_files',
  file_list: 'cloud_files',
  file_uses: 'file_uses',
  file_drops: 'file_uses',
};

/** What was written is seen where it was written: reads and writes of these tables name their home. */
function checkHomes(t: Test, all: readonly Recorded[]): void {
  const strays = all.filter(({ sql, home, place }) => {
    if (place.startsWith('common/catalogue/migrate.ts') || sql.startsWith('CREATE')) return false;
    const [, table = ''] =
      /\bsluice\.(records|record_keys|cloud_files|file_list|file_uses|file_drops|import)(?:_[0-9a-f]{32})?\b/.exec(
        sql,
      ) ?? [];
    return home?.split(' ')[0] !== homes[table];
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
    singleWriter: open === undefined,
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
    `SELECT count() FROM \`sluice\`.\`records\``,
    `SELECT count() FROM merge('sluice', '^records$'), records`,
    `DELETE FROM ${records} WHERE _id = 'a'`,
    `DELETE FROM ${records} WHERE _id IN ('a') SETTINGS x = 'space = ${id.slice(1)}`,
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
    `DELETE FROM ${records} WHERE space IN (${id}, ${id}) AND (space, _id) IN ((${id}, 'a')) SETTINGS x = 'y'`,
    `SELECT count() FROM sluice.record_spaces`,
  ];
  for (const sql of good) t.equal(spaceProblem(sql), null, sql);
});

t.test('one store', async (t) => {
  const { all, called, parser, close } = await collect();
  t.teardown(close);
  await checkCollection(t, all, called, onlyShared);
  await checkParsed(t, (sql) => parser.rows({ sql }), all);
  checkHomes(t, all);
  checkSpaces(t, all);
  const text = all.map(({ sql }) => sql).join('\n');
  t.notMatch(text, /Replicated/, 'nothing of replicas');
  t.comment(
    `${new Set(all.map(({ sql }) => sql)).size} statements from ${new Set(all.map(({ place }) => place)).size} places`,
  );
});

t.test('a served store', async (t) => {
  const server = await startClickhouse();
  t.teardown(() => server.close());
  const { url } = server;
  const { all, called, parser, harness, close } = await collect(async () => openTestClickhouse({ url }));
  t.teardown(close);
  await checkCollection(t, all, called, onlyAlone);
  checkHomes(t, all);
  checkSpaces(t, all);
  const beside = "SELECT 1 FROM system.processes WHERE query_id = 'x'\nFORMAT JSONEachRow";
  const explain = async (sql: string): Promise<void> => {
    const answer = await fetch(url, { method: 'POST', body: sql });
    if (!answer.ok) throw new Error(await answer.text());
  };
  await checkParsed(t, explain, [...all, { sql: beside, home: undefined, place: '' }]);
  const made = all.filter(({ sql }) => /^\s*(CREATE|ALTER|DROP|RENAME|TRUNCATE|OPTIMIZE|ATTACH)\b/.test(sql));
  t.strictSame(
    made.flatMap(({ place }) =>
      /^(common\/catalogue\/(?:migrate|record-columns)|query\/space\/space-views|query\/imports\/jobs\/(?:stage-records|import-records|attach-staged))\.ts/.test(
        place,
      )
        ? []
        : place,
    ),
    [],
    'tables are made by migrations, columns with structures, and views when they are asked for',
  );
  const known = all.length;
  harness.forget();
  await migrate(recordingDatabase(parser, root, all as Recorded[]).db, 'sluice', migrations);
  const ddl = all.slice(known).filter(({ sql }) => /^\s*(CREATE|ALTER)/.test(sql));
  t.strictSame(ddl, [], 'a process that starts needs no DDL');
  t.comment(
    `${new Set(all.map(({ sql }) => sql)).size} statements from ${new Set(all.map(({ place }) => place)).size} places`,
  );
});
