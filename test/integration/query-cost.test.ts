/** READ_MAX_ROWS: what counts, aggregations and finds may read. */
import t from 'tap';
import type { Database } from '#engine/database.ts';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';

/** Limits of the engine that a test can't reach, and smaller ones in their place. */
let smaller: readonly (readonly [string, string])[] = [];

const limited = await queryHarnessFor(t, {
  config: { readMaxRows: 5000 },
  // rows in memory would answer
  pending: { fewestMisses: 1e9 },
  wrap: (db): Database => ({
    ...db,
    rows: ({ sql, ...rest }) => {
      const small = smaller.reduce((text, [limit, less]) => text.replace(limit, less), sql);
      return db.rows({ ...rest, sql: small });
    },
  }),
});

const structure = structureOf('p', 'many', fieldsOf('key TEXT unique, number NUMBER'));
const many = spaceOf(limited, 'p', 'many', structure);
const refused = {
  status: 422,
  code: 'query_too_expensive',
  problems: [
    /would read 8 thousand records, and READ_MAX_ROWS allows 5000: with eq or in on 'id' or 'key' the/,
  ],
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

t.test('what an aggregation may have', async (t) => {
  const grouped = (limit: string, less: string) => {
    smaller = [
      ['max_rows_to_read = 5000', 'max_rows_to_read = 0'],
      [limit, less],
    ];
    const body = { groupBy: ['key'], values: { all: { quantile: ['number', 0.5] } }, limit: 10_000 };
    return limited.call({ path: '/p/many/_aggregate_', structure, body });
  };
  const problem = (text: RegExp) => ({ ...refused, problems: [text] });
  t.match(
    await grouped('max_rows_to_group_by = 1000000', 'max_rows_to_group_by = 10'),
    problem(/has \d+ groups, and may have 10: add a condition, or ask for fewer or larger groups$/),
  );
  t.match(
    await grouped('max_memory_usage = 536870912', 'max_memory_usage = 100000'),
    problem(/takes \S+ [KM]iB of memory, and may take 97.66 KiB: add/),
  );
  t.match(
    await grouped('max_result_bytes = 16777216', 'max_result_bytes = 1000'),
    problem(/has an answer of \S+ KiB, and it may have 1000 B: add/),
  );
  smaller = [];
});

t.test('what a find may read that can not end before it has read all', async (t) => {
  const page = { pagination: { limit: 1, page: 1 } };
  const sorted = { sort: { by: 'number', order: 'desc' } };
  t.match(await many.find('number[gt]=3990'), refused);
  t.match(await many.find('', { ...page, ...sorted }), refused);
  t.match(await many.findOne('number[gt]=3990', sorted), refused);
  t.match(await many.updateOne('number[gt]=3990', { number: 1 }, sorted), refused);
  // several share a statement
  const shared = await Promise.all([1, 2, 3, 4, 5].map((number) => many.find(`number[gt]=${3990 + number}`)));
  for (const answer of shared) t.match(answer, refused);
});

t.test('a value that few records have is found by the index', async (t) => {
  const found = await Promise.all([1, 2, 3, 4, 5].map((number) => many.find(`number=${number}`)));
  for (const [at, { body }] of found.entries()) t.match(body, [{ number: at + 1 }]);
  const counted = await limited.call({ path: '/p/many/_count_', structure, query: 'number=7' });
  t.strictSame(counted.body, { count: found[0]?.body.length });
});

t.test('lists of unique values are found by their keys', async (t) => {
  const ask = (path: string, body: unknown) =>
    limited.call({ method: 'QUERY', path: `/p/many${path}`, structure, body });
  const keys = Array.from({ length: 6 }, (_, number) => `b${number}`);
  const [{ id }] = (await many.find('key=a7')).body;
  t.strictSame((await ask('/_count_', { key: { in: keys } })).body, { count: 6 });
  const any = { $or: [{ key: 'b1' }, { key: { in: ['b2', 'b3'] } }, { id }] };
  t.strictSame((await ask('/_count_', any)).body, { count: 4 });
  const sum = await ask('/_aggregate_', { where: any, values: { sum: { sum: 'number' } } });
  t.strictSame(sum.body, [{ sum: 13 }]);
  t.equal((await ask('', { key: { in: keys }, number: { gte: 5 } })).body.length, 1);
  const far = Array.from({ length: 800 }, (_, number) => `${number % 2 ? 'a' : 'b'}${number * 5}`);
  t.match(await ask('/_count_', { key: { in: far } }), {
    status: 422,
    problems: [/READ_MAX_ROWS allows 5000: ask for fewer values at once$/],
  });
});

t.test('finds that may end early have a limit of the records that they read', async (t) => {
  const page = { pagination: { limit: 1, page: 1 } };
  const first = { number: 1001, key: 'a1001' };
  t.match((await many.find('number[gt]=1000', page)).body, [first]);
  t.match((await many.findOne('number[gt]=1000')).body, first);
  t.match((await many.search('1001', ['key'], page)).body, [first]);
  t.match((await many.updateOne('number[gt]=1000', { number: 1001 })).body, first);
  const byId = { ...page, sort: { by: 'id', order: 'desc' } };
  t.match((await many.find('number[gt]=3998', byId)).body, [{ key: 'b3999' }]);
  const nothing = 'number[gt]=4000';
  const more = {
    ...refused,
    problems: [/would read (?:more than 5000|8 thousand) records, and READ_MAX_ROWS/],
  };
  t.match(await many.find(nothing, page), more);
  t.match(await many.find(nothing, byId), more);
  t.match(await many.findOne(nothing), more);
  t.match(await many.search('nowhere', ['key'], page), more);
  t.match(await many.search('nowhere', ['key']), more);
  t.match(await many.updateOne(nothing, { number: 1 }), more);
  const where = { number: { gt: 4000 } };
  t.match(await limited.call({ path: '/p/many/_delete_', structure, body: { where } }), more);
  t.match(
    await limited.call({ path: '/p/many/_update_', structure, body: { where, set: { number: 1 } } }),
    more,
  );
  // several share a statement
  const equal = await Promise.all([1, 2, 3, 4, 5].map((number) => many.find(`number=${number}`, page)));
  for (const { body } of equal) t.equal(body.length, 1);
});

t.test('keys, and lists of all records, read as they like', async (t) => {
  t.match((await many.find('key=a3999')).body, [{ key: 'a3999' }]);
  const byId = { sort: { by: 'id', order: 'desc' }, pagination: { limit: 1, page: 1 } };
  t.match((await many.find('', byId)).body, [{ key: 'b3999' }]);
  t.equal((await many.find()).body.length, 8000);
  const { path, ...body } = { path: '/p/many/_delete_', where: { key: 'a3999' } };
  t.strictSame((await limited.call({ path, structure, body })).body, { deleted: 1 });
  t.strictSame((await many.clear()).body, { deleted: 7999 });
});

t.test('the records that a hashed value is compared with are searched for within the limit', async (t) => {
  const fields = structureOf('p', 'hashed', fieldsOf('key TEXT unique, number NUMBER, secret TEXT hashed'));
  const hashed = spaceOf(limited, 'p', 'hashed', fields);
  for (const letter of ['a', 'b'])
    await hashed.insert(
      Array.from({ length: 4000 }, (_, number) => ({
        key: `${letter}${number}`,
        number,
        ...(number === 7 && { secret: letter }),
      })),
    );
  const more = {
    ...refused,
    problems: [/would read (?:more than 5000|8 thousand) records, and READ_MAX_ROWS allows 5000: with eq/],
  };
  const wrong = 'number[gt]=5000&secret=a';
  t.match(await hashed.find(wrong), more);
  t.match(await hashed.findOne(wrong), more);
  t.match(await hashed.updateOne(wrong, { number: 1 }), more);
  t.match(await limited.call({ path: '/p/hashed/_count_', structure: fields, query: wrong }), more);
  t.match(await hashed.find('key=b7&secret=b'), { status: 200, body: [{ key: 'b7' }] });
  // it ends with the first records that are too many to compare
  t.match(await hashed.find('number[gt]=5&secret=a'), { status: 400, code: 'invalid_condition' });
});
