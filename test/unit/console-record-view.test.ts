/** What of a space is on the screen: in the address, in requests and in code that people copy. */
import t from 'tap';
import type { Field } from '#console/web/projects/structure.ts';
import type { FilterOperator } from '#console/web/records/filter-operators.ts';
import {
  emptyView,
  filterProblems,
  headerJson,
  isBare,
  nextSorts,
  queryOfView,
  type RecordView,
  viewOfQuery,
  viewOptions,
  whereOf,
} from '#console/web/records/record-view.ts';
import { clientSnippet, curlSnippet, fetchSnippet } from '#console/web/records/snippets.ts';

const field = { required: false, unique: false, hashed: false };
const fields: readonly Field[] = [
  { ...field, name: 'fullName', slug: 'full-name', type: 'TEXT', required: true },
  { ...field, name: 'age', slug: 'age', type: 'NUMBER' },
  { ...field, name: 'tags', slug: 'tags', type: 'ARRAY', defaultValue: ['a'] },
  { ...field, name: 'home', slug: 'home', type: 'OBJECT' },
  { ...field, name: 'password', slug: 'password', type: 'TEXT', hashed: true },
];
const filtersOf = (
  ...filters: readonly (readonly [name: string, operator: FilterOperator, text: string])[]
): RecordView => ({
  ...emptyView,
  filters: new Map(filters.map(([name, operator, text]) => [name, { operator, text }])),
});
const view: RecordView = {
  ...filtersOf(['fullName', 'eq', "O'Neil & “ß”"], ['age', 'gte', '36']),
  match: 'any',
  sorts: [{ by: 'age', order: 'desc' }],
};

t.test('a view goes into the address and comes back', async (t) => {
  t.strictSame(viewOfQuery(new URLSearchParams(queryOfView(view))), view);
  const odd = {
    ...filtersOf(['where.a', 'eq', ''], ['__proto__', 'in', 'x'], ['a.b', 'empty', '']),
    search: 'a=b&c',
    sorts: [
      { by: 'age', order: 'asc' },
      { by: 'fullName', order: 'desc' },
    ],
  } as const;
  t.strictSame(viewOfQuery(new URLSearchParams(queryOfView(odd))), odd);
  t.equal(queryOfView(emptyView), '');
  t.strictSame(viewOfQuery(new URLSearchParams('other=1&sort=&order=up&where-toString.age=1')), emptyView);
  const old = viewOfQuery(new URLSearchParams('where.age=7&sort=age&order=desc'));
  t.strictSame(old, { ...filtersOf(['age', 'eq', '7']), sorts: view.sorts }, 'links of earlier versions');
});

t.test('a header is clicked three times, alone and beside others', async (t) => {
  const [up, down] = [{ by: 'age', order: 'asc' } as const, { by: 'age', order: 'desc' } as const];
  const other = { by: 'id', order: 'asc' } as const;
  t.strictSame(nextSorts([], 'age', false), [up]);
  t.strictSame(nextSorts([up], 'age', false), [down]);
  t.strictSame(nextSorts([down], 'age', false), []);
  t.strictSame(nextSorts([down, other], 'fullName', false), [{ by: 'fullName', order: 'asc' }]);
  t.strictSame(nextSorts([up], 'id', true), [up, other]);
  t.strictSame(nextSorts([up, other], 'age', true), [down, other]);
  t.strictSame(nextSorts([down, other], 'age', true), [other]);
});

t.test('filters go by type', async (t) => {
  const asked = (name: string, operator: FilterOperator, text = '') =>
    whereOf(filtersOf([name, operator, text]), fields);
  t.strictSame(asked('age', 'between', '1..5'), [
    ['age', 'gte', 1],
    ['age', 'lte', 5],
  ]);
  t.strictSame(asked('age', 'between', '..5'), [['age', 'lte', 5]]);
  t.strictSame(asked('createdAt', 'between', '2026-01-31..2026-01-31'), [
    ['createdAt', 'gte', '2026-01-31'],
    ['createdAt', 'lt', '2026-02-01T00:00:00.000Z'],
  ]);
  t.strictSame(asked('age', 'in', '1, 2.5'), [['age', 'in', [1, 2.5]]]);
  t.strictSame(asked('fullName', 'in', 'Ada, 7'), [['fullName', 'in', ['Ada', '7']]]);
  t.strictSame(asked('fullName', 'nin', '["a,b"]'), [['fullName', 'nin', ['a,b']]]);
  t.strictSame(asked('tags', 'hasAny', 'a, 7, "7"'), [['tags', 'hasAny', ['a', 7, '7']]]);
  t.strictSame(asked('tags', 'size', '2'), [['tags', 'size', 2]]);
  t.strictSame(asked('home', 'path', 'city = Paris'), [['home.city', 'eq', 'Paris']]);
  t.strictSame(asked('home', 'path', 'city!=Paris'), [['home.city', 'ne', 'Paris']]);
  const flag: Field = { ...field, name: 'active', slug: 'active', type: 'BOOLEAN' };
  t.strictSame(whereOf(filtersOf(['active', 'ne', 'true']), [flag]), [['active', 'ne', true]]);
  t.strictSame(asked('fullName', 'empty'), [
    ['$or', [[['fullName', 'exists', false]], [['fullName', 'eq', '']]]],
  ]);
  t.strictSame(asked('age', 'filled'), [['$not', [[['age', 'exists', false]]]]]);
  t.strictSame(asked('age', 'gte', ''), [], 'an operator without a value says nothing yet');
  t.ok(isBare(filtersOf(['age', 'gte', ''])));
  const wrong = filtersOf(
    ['age', 'eq', 'old'],
    ['tags', 'eq', '{}'],
    ['fullName', 'eq', ''],
    ['id', 'eq', 'x'],
    ['gone', 'eq', '1'],
    ['createdAt', 'gte', 'yesterday'],
    ['password', 'between', '1..2'],
    ['home', 'path', 'Paris'],
  );
  const names = ['age', 'tags', 'gone', 'createdAt', 'password', 'home'];
  t.strictSame([...filterProblems(wrong, fields).keys()], names);
  t.throws(() => whereOf(wrong, fields), { message: /^age: Write a number/ }, 'never without a filter');
});

/** A field of each type that JSON has no type for. */
const exactFields: readonly Field[] = [
  { ...field, name: 'at', slug: 'at', type: 'DATETIME' },
  { ...field, name: 'day', slug: 'day', type: 'DATE' },
  { ...field, name: 'seats', slug: 'seats', type: 'INTEGER' },
  { ...field, name: 'odometer', slug: 'odometer', type: 'BIGINT' },
  { ...field, name: 'price', slug: 'price', type: 'DECIMAL', precision: 6, scale: 2 },
];

t.test('filters of times, days, whole numbers and decimals', async (t) => {
  const asked = (name: string, operator: FilterOperator, text = '') =>
    whereOf(filtersOf([name, operator, text]), exactFields);
  t.strictSame(
    asked('at', 'between', '2026-01-31..2026-01-31'),
    [
      ['at', 'gte', '2026-01-31T00:00:00Z'],
      ['at', 'lt', '2026-02-01T00:00:00.000Z'],
    ],
    'the whole day',
  );
  t.strictSame(asked('at', 'gt', '2026-01-31T12:00:00.000001+01:00'), [
    ['at', 'gt', '2026-01-31T12:00:00.000001+01:00'],
  ]);
  t.strictSame(asked('day', 'between', '2026-01-31..2026-02-01'), [
    ['day', 'gte', '2026-01-31'],
    ['day', 'lte', '2026-02-01'],
  ]);
  t.strictSame(asked('day', 'in', '2026-01-31, 2026-02-01'), [['day', 'in', ['2026-01-31', '2026-02-01']]]);
  t.strictSame(asked('seats', 'lte', '4'), [['seats', 'lte', 4]]);
  t.strictSame(asked('odometer', 'eq', '9007199254740993'), [['odometer', 'eq', '9007199254740993']]);
  t.strictSame(asked('price', 'nin', '1.50, 2'), [['price', 'nin', ['1.50', '2']]]);
  t.strictSame(asked('price', 'empty'), [['$or', [[['price', 'exists', false]]]]]);
  for (const [name, text] of [
    ['at', '2026-01-31T12:00:00'],
    ['at', '2026-02-30'],
    ['day', '2026-02-30'],
    ['day', '2026-01-31T12:00:00Z'],
    ['seats', '1.5'],
    ['odometer', '9223372036854775808'],
    ['price', '1.234'],
  ] as const)
    t.ok(filterProblems(filtersOf([name, 'eq', text]), exactFields).has(name), text);
  t.ok(filterProblems(filtersOf(['day', 'icontains', '2026']), exactFields).has('day'), 'as of a TEXT');
});

t.test('the request of a page', async (t) => {
  const after = { id: 'x', value: 36 };
  t.strictSame(viewOptions(view, { limit: 10, after }), {
    sort: { by: 'age', order: 'desc' },
    pagination: { limit: 10, after },
  });
  t.strictSame(viewOptions(emptyView, { limit: 10, after: null }), {
    sort: { by: 'id', order: 'desc' },
    pagination: { limit: 10 },
  });
  t.strictSame(whereOf(emptyView, fields), []);
  const any = [[['fullName', 'eq', "O'Neil & “ß”"]], [['age', 'gte', 36]]];
  t.strictSame(whereOf({ ...view, search: 'a b' }, fields), [
    ['$or', any],
    ['$or', [[['fullName', 'icontains', 'a b']]]],
  ]);
  t.equal(headerJson({ a: 'ß€😀\u007f' }), '{"a":"\\u00df\\u20ac\\ud83d\\ude00\\u007f"}');
});

const input = {
  apiUrl: 'https://api.example.com',
  project: 'demo',
  space: { slug: 'people', name: 'People', description: 'who we know', fields },
  view,
  limit: 50,
};

t.test('a curl line that a shell takes as it is', async (t) => {
  t.equal(
    curlSnippet(input),
    [
      "curl 'https://api.example.com/demo/people/_find_' \\",
      "  -H 'authorization: Bearer ACCESS_TOKEN' \\",
      "  -H 'use-pre-stored-structure: true' \\",
      "  -H 'content-type: application/json' \\",
      `  -H 'options: {"sort":{"by":"age","order":"desc"},"pagination":{"limit":50}}' \\`,
      `  -d '[["$or",[[["fullName","eq","O'\\''Neil & “ß”"]],[["age","gte",36]]]]]'`,
    ].join('\n'),
  );
  const quoted = curlSnippet({ ...input, space: { ...input.space, slug: "a'b/c" }, view: emptyView });
  t.match(quoted, "'https://api.example.com/demo/a'\\''b%2Fc/_find_'");
});

t.test('fetch and the published client', async (t) => {
  t.match(fetchSnippet(input), '"https://api.example.com/demo/people/_find_"');
  t.match(fetchSnippet(input), 'options: JSON.stringify({\n      "sort": {');
  t.match(fetchSnippet(input), 'body: JSON.stringify([["$or",[[["fullName","eq","O\'Neil & “ß”"]],');
  const sorted = { ...emptyView, sorts: [{ by: 'größe', order: 'asc' }] } as const;
  t.match(
    fetchSnippet({ ...input, view: sorted }),
    'options: "{\\"sort\\":{\\"by\\":\\"gr\\\\u00f6\\\\u00dfe\\"',
  );
  const client = clientSnippet(input);
  if (!('code' in client)) throw new Error(client.problem);
  t.match(client.code, 'space: "People"');
  t.match(client.code, '"fullName": { type: String, required: true },');
  t.match(client.code, '"tags": { type: Array, defaultValue: ["a"] },');
  t.match(client.code, '"password": { type: String, hashed: true },');
  t.match(client.code, 'model.find({"$or":[{"fullName":"O\'Neil & “ß”"},{"age":{"gte":36}}]}, {');
  const search = clientSnippet({ ...input, view: { ...emptyView, search: 'a' } });
  t.match(search, { code: /find\(\{"\$or":\[\{"fullName":\{"icontains":"a"\}\}\]\}, \{/ });
  const two = clientSnippet({ ...input, view: { ...filtersOf(['fullName', 'empty', '']), search: 'a' } });
  t.match(two, { code: '"$and":[{"$or":[{"fullName":{"icontains":"a"}}]}]}' }, 'a key stands once');
  t.match(clientSnippet({ ...input, space: { ...input.space, slug: 'People' } }), { problem: /lower case/ });
  const typed = clientSnippet({ ...input, space: { ...input.space, fields: exactFields.slice(1) } });
  t.match(typed, { problem: /no fields of type DATE, such as “day”/ });
  const years: Field = { ...field, name: 'age', slug: 'years', type: 'NUMBER' };
  t.match(clientSnippet({ ...input, space: { ...input.space, fields: [years] } }), { problem: /“age”/ });
});
