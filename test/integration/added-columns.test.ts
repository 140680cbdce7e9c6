/** The records table gets columns when a structure first has fields for them: beside records, updates and imports. */
import { join } from 'node:path';
import t from 'tap';
import type { Database, WriteStatement } from '#engine/database.ts';
import { openChdb } from '#engine/open-chdb.ts';
import { attachStaged } from '#query/imports/jobs/attach-staged.ts';
import { StagedRecords } from '#records/sql/staged-records.ts';
import { type QueryHarness, queryHarnessFor, spaceOf, testDatabase } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';
import { type ClickhouseProcess, startClickhouse } from '../services/start-clickhouse.ts';
import { openTestClickhouse } from '../services/test-clickhouse.ts';

/** A field of another space gets a column just before parts are attached. */
function interrupted(db: Database): Pick<Database, 'rows' | 'command'> & { attempts: number } {
  const self = {
    attempts: 0,
    rows: db.rows.bind(db),
    async command(statement: WriteStatement) {
      if (statement.sql.includes('ATTACH') && self.attempts++ === 0)
        await db.command({
          sql: `ALTER TABLE ${testDatabase}.records ADD COLUMN b7 Nullable(Bool)`,
          home: statement.home,
        });
      await db.command(statement);
    },
  };
  return self;
}

const older = fieldsOf(
  ...['name TEXT, n NUMBER, ok BOOLEAN, tags ARRAY, extra OBJECT, code TEXT unique, secret TEXT hashed'],
  ...['when TEXT, price TEXT, whole NUMBER'],
);
const more: readonly FieldInput[] = [
  ...fieldsOf('at DATETIME, day DATE, big BIGINT unique, count INTEGER'),
  { name: 'exact', type: 'DECIMAL', precision: 38, scale: 10 },
  { name: 'cost', type: 'DECIMAL', precision: 18, scale: 2 },
];
const retyped: readonly FieldInput[] = [
  ...older.map((field) =>
    field.name === 'when'
      ? { ...field, type: 'DATETIME' }
      : field.name === 'whole'
        ? { ...field, type: 'INTEGER' }
        : field.name === 'price'
          ? { ...field, type: 'DECIMAL', precision: 12, scale: 3 }
          : field,
  ),
  ...more,
];
const stored = { 'use-pre-stored-structure': 'true' };
const values = {
  ...{ at: '9999-12-31T23:59:59.999999Z', day: '0001-01-01', big: '-9223372036854775808', count: -7 },
  ...{ exact: '-9999999999999999999999999999.9999999999', cost: '0.10' },
};

async function fill(harness: QueryHarness): Promise<void> {
  const space = spaceOf(harness, 'p', 'older', older);
  const records = Array.from({ length: 300 }, (_, i) => ({
    ...{ name: `r${i}`, n: i / 8, ok: i % 3 === 0, tags: [i, 'x'], extra: { i }, code: `c${i}`, secret: 's' },
    ...{ when: `2026-01-31T12:00:00.${String(i).padStart(3, '0')}Z`, price: `${i}.5`, whole: i },
  }));
  for (let from = 0; from < 300; from += 100) await space.insert(records.slice(from, from + 100));
  // in parts of their own, as updates are
  await space.updateOne('code=c1', { n: 9, name: 'changed', tags: [], extra: null });
  await harness.call({
    path: '/p/older/_update_',
    headers: stored,
    body: { where: { n: { gte: 20 } }, set: { name: 'many' }, inc: { n: 1 } },
  });
  const { body } = await space.find('code=c2');
  await space.deleteOneById(body[0].id);
}

async function answersOf(harness: QueryHarness): Promise<unknown> {
  const ask = async (query: string, options: object = {}) =>
    (
      await harness.call({
        path: '/p/older',
        query,
        headers: { ...stored, options: JSON.stringify(options) },
      })
    ).body;
  const sums = { groupBy: ['ok'], values: { n: { sum: 'n' }, all: 'count' }, sort: ['ok'] };
  return [
    await ask(''),
    await ask('code=c1'),
    await ask('n[gte]=20&name=many', { sort: { by: 'n', order: 'desc' } }),
    (await harness.call({ path: '/p/older/_aggregate_', headers: stored, body: sums })).body,
  ];
}

for (const kind of ['embedded', 'served'] as const) {
  t.test(kind, async (t) => {
    let server: ClickhouseProcess | undefined;
    const harness = await queryHarnessFor(t, {
      singleWriter: kind === 'embedded',
      freshness: { freshFor: 20, staleAfter: 50, heardAfter: 50, outdatedAfter: 60_000 },
      async open(dataDir) {
        if (kind === 'served') server ??= await startClickhouse({ dataDir: join(dataDir, 'server') });
        return server ? openTestClickhouse(server) : openChdb({ path: join(dataDir, 'chdb') });
      },
    });
    t.teardown(() => server?.kill());
    const columns = async () => {
      const rows = await harness.db.rows<{ name: string }>({
        sql: `SELECT name FROM system.columns WHERE table = 'records' AND match(name, '^[ntbi][0-9]') ORDER BY name`,
      });
      return rows.map(({ name }) => name);
    };
    t.strictSame(await columns(), ['b0', 'n0', 'n1', 't0', 't1', 't2', 't3']);
    await fill(harness);
    t.strictSame(await columns(), ['b0', 'n0', 'n1', ...['t0', 't1', 't2', 't3', 't4', 't5']].sort());
    const answers = await answersOf(harness);
    const other = '01890a5d-ac96-774b-bcce-b302099a8057';
    const staged = new StagedRecords(testDatabase, harness.store.table, other, 'a-job');
    await harness.db.command(staged.create());
    await harness.db.insert({
      ...{ table: staged.name, columns: ['space', '_id'], home: staged.home },
      lines: Buffer.from(JSON.stringify([other, 'one'])),
    });
    await harness.restart();

    const space = spaceOf(harness, 'p', 'older', [...older, ...more]);
    await space.make();
    t.ok((await columns()).includes('i3'));
    t.match(await answersOf(harness), answers, 'the answers are those of before');
    await t.rejects(harness.db.command(staged.attach()), 'the engine compares the columns');
    const engine = interrupted(harness.db);
    await attachStaged(engine, staged, undefined);
    t.equal(engine.attempts, 2);
    const attached = `SELECT _id FROM ${testDatabase}.records WHERE space = '${other}'`;
    t.strictSame(await harness.db.rows({ sql: attached }), [{ _id: 'one' }]);
    await harness.db.command(staged.drop());

    t.match(await space.insertOne({ code: 'new', ...values }), { status: 200, body: values });
    t.match(await space.updateOne('code=c3', { ...values, big: '5' }), { status: 200, body: { n: 3 / 8 } });
    t.match(await space.insertOne({ code: 'again', big: '5' }), { status: 400, code: 'not_unique' });
    t.match(
      await space.insertOne({ code: 'c4' }),
      { status: 400, code: 'not_unique' },
      'old values have keys',
    );
    t.match((await space.find('big=5')).body, [{ code: 'c3', cost: '0.10', name: 'r3' }]);

    const changed = structureOf('p', 'older', retyped);
    const change = await harness.call({ path: '/p/older/set-structure', body: JSON.parse(changed) });
    t.equal(change.status, 200, change.problems.join());
    const last = spaceOf(harness, 'p', 'older', retyped);
    const typed = async () => [
      (await last.find('price[gt]=297.4', { sort: { by: 'price', order: 'desc' } })).body,
      (await last.find('when[lt]=2026-01-31T12:00:00.003Z', { sort: { by: 'when', order: 'asc' } })).body,
      (await last.find('code=c3')).body,
      (await last.find()).body,
    ];
    const found = await typed();
    t.match(found, [
      [{ price: '299.500' }, { price: '298.500' }, { price: '297.500' }],
      [
        { when: '2026-01-31T12:00:00.000Z', whole: 0 },
        { name: 'changed', whole: 1 },
      ],
      [{ ...values, big: '5', price: '3.500' }],
    ]);
    t.equal(found[0]?.length, 3);
    t.equal(found[1]?.length, 2);
    t.equal(found[3]?.length, 300);
    // parts of before and after, and what updates wrote, become one part
    await harness.restart();
    await harness.db.command({ sql: `OPTIMIZE TABLE ${testDatabase}.records FINAL` });
    harness.forget();
    t.strictSame(await typed(), found);
  });
}
