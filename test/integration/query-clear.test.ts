import t from 'tap';
import { openQueryHarness, spaceOf } from '../services/query-harness.ts';
import { structureOf } from '../services/record-client.ts';

const harness = await openQueryHarness({ config: { allowClearAllSpaces: true } });
t.teardown(() => harness.close());

function space(slug: string, project = 'p', more: object = {}) {
  return spaceOf(harness, project, slug, structureOf(project, slug, [{ name: 'a', type: 'TEXT' }], more));
}

t.test('clear-all-spaces empties the spaces of one project of one owner first', async (t) => {
  const one = space('one');
  const two = space('two');
  const elsewhere = space('one', 'q');
  for (const each of [one, two, elsewhere]) await each.insert([{ a: 'old' }]);
  const foreign = {
    path: '/p/one',
    structure: structureOf('p', 'one', [{ name: 'a', type: 'TEXT' }]),
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
