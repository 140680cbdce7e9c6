import t from 'tap';
import { readBodyConditions } from '#query/input/read-body-conditions.ts';
import { readQueryConditions } from '#query/input/read-query-conditions.ts';
import type { Comparison, Filter } from '#records/input/filters/filter.ts';
import { operatorsFor } from '#records/input/filters/operators.ts';
import { parseConditions } from '#records/input/parse-conditions.ts';
import { conditionsSql } from '#records/sql/conditions-sql.ts';
import { fieldTypes } from '../../query/records/types/field-types.ts';
import { storedStructure } from '../services/stored-structure.ts';
import { problemsOf } from '../services/thrown-by.ts';

const structure = storedStructure([
  { name: 'title', type: 'TEXT' },
  { name: 'year', type: 'NUMBER' },
  { name: 'open', type: 'BOOLEAN' },
  { name: 'tags', type: 'ARRAY' },
  { name: 'home', type: 'OBJECT' },
  { name: 'password', type: 'TEXT', hashed: true },
  { name: 'year[gte]', slug: 'literal', type: 'NUMBER' },
  { name: '$or', slug: 'either', type: 'TEXT' },
  { name: 'a.b', slug: 'dotted', type: 'TEXT' },
]);

const pairsOf = (query: string): [string, string][] => [...new URLSearchParams(query)];
const byQuery = (query: string, relationship: 'And' | 'Or' = 'And') =>
  parseConditions(readQueryConditions(pairsOf(query), structure), structure, relationship);
const byBody = (body: unknown) => parseConditions(readBodyConditions(body, structure), structure, 'And');
const sql = (query: string, relationship: 'And' | 'Or' = 'And') =>
  conditionsSql(byQuery(query, relationship));
const refusedBody = (body: unknown): readonly string[] => problemsOf(() => byBody(body));
const refusedQuery = (query: string): readonly string[] => problemsOf(() => byQuery(query));

t.test('a query says operators in brackets', async (t) => {
  t.equal(sql('year=1843'), "(n0 = toFloat64('1843'))");
  t.equal(sql('year[gt]=1&year[lt]=3'), "(n0 > toFloat64('1') AND n0 < toFloat64('3'))");
  t.equal(sql('year[eq]=1'), sql('year=1'));
  for (const list of [
    'title[in]=a&title[in]=b,c',
    'title[in][]=a&title[in][]=b,c',
    'title[in][0]=a&title[in][1]=b,c',
  ])
    t.equal(sql(list), "(t0 IN ('a', 'b,c'))", list);
  t.equal(sql('title[exists]=false'), '(t0 IS NULL)');
  t.equal(sql("title[contains]=%_'"), "(position(t0, '%_\\'') > 0)", 'nothing is a wildcard');
  t.match(
    sql('createdAt[gte]=2026-01-31'),
    /_created_at >= toDateTime64\('2026-01-31 00:00:00.000', 3, 'UTC'\)/,
  );
  t.equal(sql('year[gt]=1&title=a', 'Or'), "(t0 = 'a' OR n0 > toFloat64('1'))");
});

t.test('groups', async (t) => {
  t.equal(
    sql('title=x&$and[0][title]=a&$and[1][year][gt]=2&$and[1][open]=true'),
    "(t0 = 'x' AND (t0 = 'a' AND (n0 > toFloat64('2') AND b0 = true)))",
  );
  t.equal(sql('$not[0][year][gt]=2'), "(NOT ifNull(n0 > toFloat64('2'), false))");
  t.equal(
    sql('$not[0][$and][0][title]=a&$not[0][$and][1][year]=2'),
    "(NOT ifNull((t0 = 'a' AND n0 = toFloat64('2')), false))",
  );
  t.strictSame(
    byBody({ $and: [{ title: 'a' }, { year: { gt: 2 }, open: true }] }).others,
    byQuery('$and[0][title]=a&$and[1][year][gt]=2&$and[1][open]=true').others,
  );
});

t.test('a field whose name looks like an operator, a group or a path is that field', async (t) => {
  t.equal(sql('year[gte]=1800'), "(n1 = toFloat64('1800'))");
  t.equal(sql('year[gte][gte]=1800'), "(n1 >= toFloat64('1800'))");
  t.equal(sql('$or=x'), "(t3 = 'x')");
  t.equal(sql('a.b[ne]=x'), "(t4 != 'x')");
  t.equal(conditionsSql(byBody({ 'year[gte]': 5 })), "(n1 = toFloat64('5'))");
});

t.test('elements and paths have the type of their JSON', async (t) => {
  const valuesOf = (query: string): unknown =>
    (byQuery(query).others[0] as Extract<Filter, { operator: string }>).values;
  t.strictSame(valuesOf('tags[has]=1'), ['1']);
  t.strictSame(valuesOf('tags[has]="1"'), ['"1"']);
  t.strictSame(valuesOf('tags[has]=a'), ['"a"']);
  t.strictSame(valuesOf('tags[has]=01'), ['"01"']);
  t.strictSame(valuesOf('tags[hasAny][]=true&tags[hasAny][]=null'), ['true', '"null"']);
  t.match(byQuery('home.city=Paris').others, [{ path: ['city'], operator: 'eq', values: ['"Paris"'] }]);
  t.match(byBody({ 'home.city': { ne: 'Paris' } }).others, [{ path: ['city'], operator: 'ne' }]);
  t.match(byBody({ home: { city: 'Paris' } }).plain, [{ value: '{"city":"Paris"}' }], 'equality by value');
  t.match(byBody([['home', 'exists', true]]).others, [{ operator: 'exists', values: [true] }]);
});

t.test('a body is exact about types', async (t) => {
  t.match(refusedBody({ year: { gt: '1' } }), [/'year\[gt\]' should be a valid number/]);
  t.match(refusedBody({ title: { eq: null } }), [/'title' should not be null: use exists/]);
  t.match(refusedBody({ title: { in: 'a' } }), [/'title\[in\]' should be a list/]);
  t.match(refusedBody({ title: { exists: 'true' } }), [/should be true or false/]);
  t.match(refusedBody({ tags: { size: -1 } }), [/should be a whole number from 0/]);
  t.equal(byBody({ year: '1843' }).plain.length, 1, 'equality is as before');
});

t.test('a body is exact about types within groups as well', async (t) => {
  t.match(refusedBody({ $and: [{ year: '1843' }, { title: 5 }, [['open', 'true']], { tags: null }] }), [
    "Value for Query field: 'year' should be a valid number",
    "Value for Query field: 'title' should be a valid string",
    "Value for Query field: 'open' should be a valid boolean",
    "Value for Query field: 'tags' should not be null: use exists",
  ]);
  t.match(byBody({ $and: [{ year: 1843, title: '5', open: true, tags: ['a'], id: 'x' }] }).others, [
    { branches: [{ branches: [{ values: [1843] }, { values: ['5'] }, {}, { values: ['["a"]'] }, {}] }] },
  ]);
});

t.test('a key that begins like a group and is none', async (t) => {
  const plain = storedStructure([{ name: 'title', type: 'TEXT' }]);
  const keys = [
    '$or',
    '$or[0]',
    '$or[][title]',
    '$not[x][title]',
    '$or[0]title',
    '$or[0][title]x',
    '$or[0][$and]',
  ];
  for (const key of [...keys, '$or[0][$and][title]', '$and[0][', '$and[0][title'])
    t.strictSame(
      problemsOf(() => parseConditions(readQueryConditions([[key, 'x']], plain), plain, 'And')),
      [
        `Query field: '${key}' should have a number and a field, such as $or[0][title]=x and $or[1][year][gt]=2`,
      ],
    );
  t.equal(sql('$or[ne]=x'), "(t3 != 'x')", 'a field');
});

t.test('a text in a body that looks like a number or a list stays a text at a path', async (t) => {
  const comparedWith = (body: unknown): unknown => (byBody(body).others[0] as Comparison).values[0];
  for (const value of ['5', 'true', '"5"', '["a"]', 5, true, ['a']]) {
    t.equal(comparedWith({ 'home.city': value }), JSON.stringify(value));
    t.equal(comparedWith([['home.city', value]]), JSON.stringify(value));
  }
  t.match(refusedBody({ 'home.city': null }), [/'home.city' should not be null: use exists/]);
});

t.test('a hashed field is compared by its hash, however equality is written', async (t) => {
  for (const body of [{ password: 'a' }, { password: { eq: 'a' } }, [['password', 'eq', 'a']]])
    t.match(byBody([['title', 'x'], ...(Array.isArray(body) ? body : Object.entries(body))]), {
      hashed: [{ value: 'a' }],
      plain: { length: 1 },
    });
});

const nested = (levels: number): object => (levels === 0 ? { title: 'a' } : { $and: [nested(levels - 1)] });

t.test('every problem is listed', async (t) => {
  t.strictSame(refusedQuery('year[gte2]=a&year[gt]=a&password[ne]=x&open[gt]=true'), [
    `Query field: 'year' has no operator 'gte2'; a NUMBER has ${operatorsFor(fieldTypes.NUMBER).join(', ')}`,
    "Value for Query field: 'year[gt]' should be a valid number",
    "Query field: 'password' is hashed; it can only be compared with eq",
    `Query field: 'open' has no operator 'gt'; a BOOLEAN has ${operatorsFor(fieldTypes.BOOLEAN).join(', ')}`,
  ]);
  t.match(
    // '$or' is a field here
    refusedBody({ $and: [], $not: [[], 'x'], nosuch: { gt: 1 }, year: {}, title: { gt3: 1 }, open: 'x' }),
    [
      "Query field: '$and' should be a list of conditions, none of them empty",
      "Query field: '$not' should be a list of conditions, none of them empty",
      /^Query field: 'nosuch' is not in the structure/,
      "Query field: 'year' has an object without an operator",
      /^Query field: 'title' has no operator 'gt3'/,
      /^Value for Query field: 'open' should be a valid boolean/,
    ],
  );
  t.match(refusedBody({ $not: ['x', { year: {} }, [['open']]], $and: [nested(5)], nosuch: 1 }), [
    /^A branch of '\$not' should be a JSON object of conditions, or an array/,
    "Query field: 'year' has an object without an operator",
    /^A branch of '\$not' should be/,
    /deeper than 5 levels/,
    /'nosuch' is not in the structure/,
  ]);
  t.match(refusedQuery(`$and[0]${'[$and][0]'.repeat(5)}[title]=a&year=x`), [
    /deeper than 5 levels/,
    /'year' should be a valid number/,
  ]);
  t.match(refusedQuery('$and[0][nothing]=1'), [/'nothing' is not in the structure/]);
  t.match(refusedQuery('$and[0][password]=1&title=a'), [/'password' is hashed.*group/]);
  t.match(refusedBody({ title: { constructor: 'a' } }), [/no operator 'constructor'/]);
});

t.test('limits', async (t) => {
  const many = (count: number) => Array.from({ length: count }, (_, at) => String(at));
  t.match(refusedQuery(`title[in]=${many(101).join('&title[in]=')}`), [
    /The list of 'title\[in\]' has 101 values; at most 100 are allowed/,
  ]);
  t.match(refusedBody({ title: { in: many(12_001) } }), [
    /The list of 'title\[in\]' has 12,001 values; at most 10,000 are allowed/,
  ]);
  t.equal(byBody({ title: { in: many(10_000) } }).others.length, 1);
  const lists = { title: { in: many(10_000), nin: many(10_000) }, tags: { hasAny: ['a'] } };
  t.match(refusedBody(lists), [/more than 20000 values together/]);
  t.match(refusedBody({ $and: many(101).map((title) => ({ title })) }), [/101 conditions; at most 100/]);
  t.equal(byBody(nested(5)).others.length, 1);
  t.match(refusedBody(nested(6)), [/deeper than 5 levels/]);
  t.match(refusedBody(nested(5000)), [/deeper than 5 levels/]);
  t.match(refusedQuery(`${'$and[0]['.repeat(1)}$and][0]${'[$and][0]'.repeat(3000)}[title]=a`), [
    /deeper than 5 levels/,
  ]);
});
