/**
 * A field that becomes unique while values are stored: a find of one of them succeeds, also by its key. The
 * only process of a store makes the keys at once. Of several, one may still write by the older structure and make no
 * keys, so they are made when none can do so any more.
 */
import t, { type Test } from 'tap';
import type { Database } from '#engine/database.ts';
import { type QueryHarness, queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, structureOf } from '../services/record-client.ts';
import { type StoredSpace, storedSpace } from '../services/stored-space.ts';

const text = (name: string, more: object = {}): FieldInput => ({ name, type: 'TEXT', ...more });
const path = { project: 'p', slug: 's' };
const loose = structureOf('p', 's', [text('a'), text('b')]);
const strict = structureOf('p', 's', [text('a', { unique: true }), text('b')]);
const count = 50;

/** SELECTs of records by a key. */
let byKeys = 0;
async function open(t: Test, singleWriter: boolean): Promise<QueryHarness> {
  const harness = await queryHarnessFor(t, {
    singleWriter,
    // what is known is looked up again behind each request
    freshness: { freshFor: 0, staleAfter: 10_000 },
    wrap: (db): Database => ({
      ...db,
      rows(statement) {
        if (statement.sql.includes('hasAnyTokens')) byKeys++;
        return db.rows(statement);
      },
    }),
  });
  const space = spaceOf(harness, 'p', 's', loose);
  const { body } = await space.insert(Array.from({ length: count }, (_, i) => ({ a: `a${i}`, b: 'x' })));
  await space.updateOneById(body[1].id, { a: 'changed' });
  await space.updateOneById(body[2].id, { a: null });
  await space.deleteOneById(body[3].id);
  return harness;
}

async function isKeyed({ db }: QueryHarness): Promise<boolean> {
  const [row] = await db.rows<{ slots: string }>({
    sql: `SELECT slots FROM sluice.record_spaces FINAL WHERE slug = 's'`,
  });
  return JSON.parse(row?.slots ?? '').a[1];
}

/** The same whether the field has its keys or not. */
async function check(t: Test, harness: Pick<QueryHarness, 'call'>, name: string): Promise<void> {
  const space = spaceOf(harness, 'p', 's', strict);
  for (const value of ['a0', 'changed', 'a49']) {
    t.match((await space.findOne([['a', value]])).body, { a: value }, `${name}: ${value}`);
    t.match(await space.insertOne({ a: value }), { status: 400, code: 'not_unique' }, `${name}: ${value}`);
  }
  for (const value of ['a1', 'a2', 'a3', 'none']) {
    t.equal((await space.findOne([['a', value]])).body, null, `${name}: ${value}`);
  }
}

async function keyRows(harness: QueryHarness): Promise<number> {
  const stored: StoredSpace = await storedSpace(harness.db, path);
  return (await stored.keys()).length;
}

t.test('the only process of a store', async (t) => {
  const harness = await open(t, true);
  const space = spaceOf(harness, 'p', 's', strict);
  t.match(await space.find([['a', 'a0']]), { status: 200, body: [{ a: 'a0' }] });
  t.ok(await isKeyed(harness), 'at once');
  t.ok((await keyRows(harness)) >= count - 2, 'of what is stored, and has a value');
  byKeys = 0;
  await check(t, harness, 'with keys');
  // values without a key are not looked up
  t.ok(byKeys >= 3, `${byKeys} look-ups`);
  // off, and on again: what came between has no key
  t.equal((await spaceOf(harness, 'p', 's', loose).insertOne({ a: 'between' })).status, 200);
  t.notOk(await isKeyed(harness));
  t.match((await space.findOne([['a', 'between']])).body, { a: 'between' });
  t.ok(await isKeyed(harness));
  t.match(await space.insertOne({ a: 'between' }), { status: 400, code: 'not_unique' });
  await harness.restart();
  await check(t, harness, 'after a restart');
});

t.test('one of several processes', async (t) => {
  const harness = await open(t, false);
  const other = harness.another();
  await check(t, harness, 'without keys');
  t.notOk(await isKeyed(harness), 'another process may not know yet');
  t.equal((await spaceOf(harness, 'p', 's', strict).insertOne({ a: 'new' })).status, 200);
  t.ok((await keyRows(harness)) >= 1, 'what comes from now on has its key');
  await check(t, other, 'in another process');
  // as if two minutes had passed
  await harness.db.command({
    sql: `INSERT INTO sluice.record_spaces
      SELECT * REPLACE (version + 1 AS version, updated_at - INTERVAL 3 MINUTE AS updated_at)
      FROM sluice.record_spaces FINAL WHERE slug = 's'`,
  });
  for (let tries = 0; tries < 200 && !(await isKeyed(harness)); tries++) {
    await spaceOf(harness, 'p', 's', strict).findOne([['a', 'a0']]);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  t.ok(await isKeyed(harness), 'by now all know');
  t.ok((await keyRows(harness)) >= count - 1);
  harness.forget();
  byKeys = 0;
  await check(t, harness, 'with keys');
  t.ok(byKeys >= 7, `${byKeys} look-ups`);
  await check(t, other, 'in another process, which may still go without them');
  t.match((await spaceOf(harness, 'p', 's', strict).findOne([['a', 'new']])).body, { a: 'new' });
});
