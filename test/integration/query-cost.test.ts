/** READ_MAX_ROWS: what counts, aggregations and finds may read. */
import t from 'tap';
import { openQueryHarness, spaceOf } from '../services/query-harness.ts';
import { structureOf } from '../services/record-client.ts';

const limited = await openQueryHarness({
  config: { readMaxRows: 5000 },
  // rows in memory would answer
  pending: { fewestMisses: 1e9 },
});
t.teardown(() => limited.close());

const structure = structureOf('p', 'many', [
  { name: 'key', type: 'TEXT', unique: true },
  { name: 'number', type: 'NUMBER' },
]);
const many = spaceOf(limited, 'p', 'many', structure);
const refused = {
  ...{ status: 422, code: 'query_too_expensive' },
  problems: [/would read 8 thousand records, and may read 5 thousand.* by 'id', 'key' the fewest/],
};

t.test('what a count and an aggregation may read', async (t) => {
  await many.insert(Array.from({ length: 4000 }, (_, number) => ({ key: `a${number}`, number })));
  const count = (query = '') => limited.call({ path: '/p/many/_count_', structure, query });
  const grouped = {
    path: '/p/many/_aggregate_',
    structure,
    body: { values: { n: 'count', most: { max: 'number' } } },
  };
  t.strictSame((await count()).body, { count: 4000 });
  t.strictSame((await limited.call(grouped)).body, [{ n: 4000, most: 3999 }]);
  await many.insert(Array.from({ length: 4000 }, (_, number) => ({ key: `b${number}`, number })));
  t.match(await count('number[gt]=5'), refused);
  t.match(await limited.call(grouped), refused);
  t.strictSame((await count('key=a7')).body, { count: 1 });
});

t.test('what a find may read that can not end before it has read all', async (t) => {
  const page = { pagination: { limit: 1, page: 1 } };
  const sorted = { sort: { by: 'number', order: 'desc' } };
  t.match(await many.find('number[gt]=3990'), refused);
  t.match(await many.find('', { ...page, ...sorted }), refused);
  t.match(await many.findOne('number[gt]=3990', sorted), refused);
  t.match(await many.updateOne('number[gt]=3990', { number: 1 }, sorted), refused);
  // several share a statement
  const shared = await Promise.all([1, 2, 3, 4, 5].map((number) => many.find(`number=${number}`)));
  for (const answer of shared) t.match(answer, refused);
});

t.test('finds that may end early, keys and lists of all records read as they like', async (t) => {
  const first = { number: 3999, key: 'a3999' };
  t.match((await many.find('number[gt]=3998', { pagination: { limit: 1, page: 1 } })).body, [first]);
  t.match((await many.findOne('number[gt]=3998')).body, first);
  t.match((await many.find('key=a3999')).body, [first]);
  const byId = { sort: { by: 'id', order: 'desc' }, pagination: { limit: 1, page: 1 } };
  t.match((await many.find('', byId)).body, [{ key: 'b3999' }]);
  t.equal((await many.find()).body.length, 8000);
  t.strictSame((await many.clear()).body, { deleted: 8000 });
});
