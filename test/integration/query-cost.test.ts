/** READ_MAX_ROWS: what counts and aggregations may read. */
import t from 'tap';
import { openQueryHarness, spaceOf } from '../services/query-harness.ts';
import { structureOf } from '../services/record-client.ts';

const limited = await openQueryHarness({ config: { readMaxRows: 5000 } });
t.teardown(() => limited.close());

t.test('what a query may read', async (t) => {
  const structure = structureOf('p', 'many', [
    { name: 'key', type: 'TEXT', unique: true },
    { name: 'number', type: 'NUMBER' },
  ]);
  const many = spaceOf(limited, 'p', 'many', structure);
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
  const refused = {
    ...{ status: 422, code: 'query_too_expensive' },
    problems: [/would read 8 thousand records, and may read 5 thousand.* by 'id', 'key' the fewest/],
  };
  t.match(await count('number[gt]=5'), refused);
  t.match(await limited.call(grouped), refused);
  t.strictSame((await count('key=a7')).body, { count: 1 });
  t.strictSame((await many.clear()).body, { deleted: 8000 });
});
