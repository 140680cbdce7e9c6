/** What of a space is on the screen: in the address, in requests and in code that people copy. */
import t from 'tap';
import type { Field } from '../../console/web/projects/structure.ts';
import {
  emptyView,
  filterProblems,
  headerJson,
  nextSort,
  queryOfView,
  type RecordView,
  viewOfQuery,
  viewOptions,
  viewPath,
} from '../../console/web/records/record-view.ts';
import { clientSnippet, curlSnippet, fetchSnippet } from '../../console/web/records/snippets.ts';

const field = { required: false, unique: false, hashed: false };
const fields: readonly Field[] = [
  { ...field, name: 'fullName', slug: 'full-name', type: 'TEXT', required: true },
  { ...field, name: 'age', slug: 'age', type: 'NUMBER' },
  { ...field, name: 'tags', slug: 'tags', type: 'ARRAY', defaultValue: ['a'] },
  { ...field, name: 'password', slug: 'password', type: 'TEXT', hashed: true },
];
const view: RecordView = {
  filters: new Map([
    ['fullName', "O'Neil & “ß”"],
    ['age', '36'],
  ]),
  match: 'any',
  search: '',
  sort: { by: 'age', order: 'desc' },
};

t.test('a view goes into the address and comes back', async (t) => {
  t.strictSame(viewOfQuery(new URLSearchParams(queryOfView(view))), view);
  const odd = {
    ...emptyView,
    search: 'a=b&c',
    filters: new Map([
      ['where.a', ''],
      ['__proto__', 'x'],
    ]),
  };
  t.strictSame(viewOfQuery(new URLSearchParams(queryOfView(odd))), odd);
  t.equal(queryOfView(emptyView), '');
  t.strictSame(viewOfQuery(new URLSearchParams('other=1&sort=&order=up')), emptyView);
});

t.test('a header is clicked three times', async (t) => {
  const first = nextSort(null, 'age');
  const second = nextSort(first, 'age');
  t.strictSame(
    [first, second],
    [
      { by: 'age', order: 'asc' },
      { by: 'age', order: 'desc' },
    ],
  );
  t.equal(nextSort(second, 'age'), null);
  t.strictSame(nextSort(second, 'id'), { by: 'id', order: 'asc' });
});

t.test('filters go by type', async (t) => {
  const filters = new Map([
    ['age', 'old'],
    ['tags', '{}'],
    ['fullName', ''],
    ['id', 'x'],
    ['gone', '1'],
  ]);
  t.strictSame([...filterProblems({ ...emptyView, filters }, fields).keys()], ['age', 'tags', 'gone']);
  const good = new Map([
    ['age', '-1.5e3'],
    ['tags', '["a"]'],
  ]);
  t.equal(filterProblems({ ...emptyView, filters: good }, fields).size, 0);
});

t.test('the request of a page', async (t) => {
  const after = { id: 'x', value: 36 };
  t.strictSame(viewOptions(view, { limit: 10, after }), {
    paramRelationship: 'Or',
    sort: { by: 'age', order: 'desc' },
    pagination: { limit: 10, after },
  });
  t.strictSame(viewOptions(emptyView, { limit: 10, after: null }), {
    sort: { by: 'id', order: 'desc' },
    pagination: { limit: 10 },
  });
  t.equal(viewPath(emptyView, fields), '');
  t.equal(
    viewPath({ ...emptyView, search: 'a b' }, fields),
    '/search?searchText=a+b&searchableFields%5B%5D=fullName',
  );
  t.equal(headerJson({ a: 'ß€😀\u007f' }), '{"a":"\\u00df\\u20ac\\ud83d\\ude00\\u007f"}');
});

const input = {
  apiUrl: 'https://api.example.com',
  project: 'demo',
  space: { slug: 'people', name: 'People', description: 'who we know' },
  fields,
  view,
  limit: 50,
};

t.test('a curl line that a shell takes as it is', async (t) => {
  t.equal(
    curlSnippet(input),
    [
      "curl 'https://api.example.com/demo/people?fullName=O%27Neil+%26+%E2%80%9C%C3%9F%E2%80%9D&age=36' \\",
      "  -H 'authorization: Bearer ACCESS_TOKEN' \\",
      "  -H 'use-pre-stored-structure: true' \\",
      `  -H 'options: {"paramRelationship":"Or","sort":{"by":"age","order":"desc"},"pagination":{"limit":50}}'`,
    ].join('\n'),
  );
  const quoted = curlSnippet({ ...input, space: { ...input.space, slug: "a'b/c" }, view: emptyView });
  t.match(quoted, "'https://api.example.com/demo/a'\\''b%2Fc'");
});

t.test('fetch and the published client', async (t) => {
  t.match(fetchSnippet(input), '"https://api.example.com/demo/people?fullName=O%27Neil');
  t.match(fetchSnippet(input), 'options: JSON.stringify({\n      "paramRelationship": "Or",');
  const sorted = { ...emptyView, sort: { by: 'größe', order: 'asc' } } as const;
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
  t.match(client.code, 'model.find({"fullName":"O\'Neil & “ß”","age":"36"}, {');
  const search = clientSnippet({ ...input, view: { ...emptyView, search: 'a' } });
  t.match(search, { code: /search\(\{"searchText":"a","searchableFields":\["fullName"\]\}, \{/ });
  t.match(clientSnippet({ ...input, space: { ...input.space, slug: 'People' } }), { problem: /lower case/ });
  t.match(clientSnippet({ ...input, fields: [{ ...field, name: 'age', slug: 'years', type: 'NUMBER' }] }), {
    problem: /“age”/,
  });
});
