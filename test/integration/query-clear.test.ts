import t from 'tap';
import { queryHarnessFor, spaceOf, testDatabase } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { type StoredSpace, storedSpace } from '../services/stored-space.ts';

const harness = await queryHarnessFor(t, { config: { allowClearAllSpaces: true } });

function space(slug: string, project = 'p', more: object = {}) {
  return spaceOf(harness, project, slug, fieldsOf('a TEXT'), more);
}

t.test('clear-all-spaces empties the spaces of one project of one owner first', async (t) => {
  const one = space('one');
  const two = space('two');
  const elsewhere = space('one', 'q');
  for (const each of [one, two, elsewhere]) await each.insert([{ a: 'old' }]);
  const foreign = {
    path: '/p/one',
    structure: structureOf('p', 'one', fieldsOf('a TEXT')),
    owner: 'other',
  };
  await harness.call({ ...foreign, body: [{ a: 'foreign' }] });
  const stored = await one.insertOne({ a: 'new' }, { 'clear-all-spaces': 'true' });
  t.match(stored.body, { a: 'new' });
  t.strictSame((await one.find()).body, [stored.body]);
  t.strictSame((await two.find()).body, []);
  t.equal((await elsewhere.find()).body.length, 1);
  t.match((await harness.call(foreign)).body, [{ a: 'foreign' }]);
});

t.test('clear in a structure empties its space', async (t) => {
  const one = space('three');
  const other = space('four');
  for (const each of [one, other]) await each.insert([{ a: 'old' }]);
  t.strictSame((await space('three', 'p', { clear: true }).find()).body, []);
  t.equal((await other.find()).body.length, 1);
});

t.test('a space that is cleared leaves no keys behind, but those of its last hour', async (t) => {
  const fields = fieldsOf('a TEXT unique');
  const one = spaceOf(harness, 'p', 'keys', fields);
  const other = spaceOf(harness, 'p', 'other-keys', fields);
  for (const each of [one, other]) await each.insert([{ a: 'x' }, { a: 'y' }]);
  // a read waits until what was written has come to the engine
  for (const each of [one, other]) t.equal((await each.find()).body.length, 2);
  const keysIn = async (stored: StoredSpace | undefined): Promise<number> => {
    const sql = `SELECT 1 FROM ${testDatabase}.record_keys WHERE space = '${stored?.id}'`;
    return (await harness.store.db.rows({ sql, space: stored?.id })).length;
  };
  for (const each of [one, other]) {
    for (const { id } of (await each.find()).body as { id: string }[])
      t.equal((await each.updateOneById(id, { a: `new ${id}` })).status, 200);
  }
  const [mine, others] = await Promise.all(
    ['keys', 'other-keys'].map((slug) => storedSpace(harness.db, { project: 'p', slug })),
  );
  const table = `${testDatabase}.record_keys`;
  t.equal((await keysIn(mine)) + (await keysIn(others)), 4);
  for (const { id } of [mine, others] as StoredSpace[]) {
    const old = `SELECT space, key, concat(_id, '-old'), now() - INTERVAL 2 HOUR FROM ${table} WHERE space = '${id}'`;
    await harness.db.command({ sql: `INSERT INTO ${table} (space, key, _id, _written) ${old}` });
  }
  t.equal(await keysIn(mine), 4);
  await one.clear();
  t.equal(await keysIn(mine), 2);
  t.equal(await keysIn(others), 4);
});
