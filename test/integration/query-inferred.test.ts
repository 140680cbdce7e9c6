/** infer-structure: true, with which a request needs no structure: its body says what there is. */
import t from 'tap';
import { queryHarnessFor } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t);

const headers = { 'infer-structure': 'true' };
const post = (path: string, body: unknown, more: Record<string, string> = {}) =>
  harness.call({ path, body, headers: { ...headers, ...more } });
const stored = async (slug: string) =>
  (await harness.call({ path: `/p/${slug}/set-structure`, body: { recordStructure: [] } })).body
    .recordStructure;

t.test('the structure is that of the body', async (t) => {
  const { status, body } = await post('/p/people/_single_', { firstName: 'Ada', age: 36, tags: [] });
  t.equal(status, 200);
  t.match(body, { firstName: 'Ada', age: 36, tags: [] });
  t.match(await stored('people'), [
    { name: 'firstName', slug: 'first-name', type: 'TEXT' },
    { name: 'age', type: 'NUMBER' },
    { name: 'tags', type: 'ARRAY' },
  ]);
  t.match((await harness.call({ path: '/p/people', headers, query: 'age=36' })).body, [{ firstName: 'Ada' }]);
  const updated = await harness.call({
    path: '/p/people/update',
    headers,
    query: 'age=36',
    body: { age: 37 },
  });
  t.match(updated.body, { age: 37 });
});

t.test('a field that only is added to is a number, and a body about many records is no record', async (t) => {
  const { id } = (await post('/p/counted/_single_', { name: 'a' })).body;
  const counted = await harness.call({
    path: '/p/counted/update-by-id',
    headers,
    query: `id=${id}`,
    body: { visits: { $inc: 2 } },
  });
  t.match(counted.body, { name: 'a', visits: 2 });
  t.match(await post('/p/counted/_update_', { where: { name: 'a' }, inc: { visits: 1 } }), {
    body: { updated: 1 },
  });
  t.match(await post('/p/counted/_delete_', { where: { visits: 4 } }), { body: { deleted: 0 } });
  t.match(await stored('counted'), [{ name: 'name' }, { name: 'visits', type: 'NUMBER' }]);
  t.equal((await stored('counted')).length, 2);
});

t.test('of several records all fields count', async (t) => {
  const { body } = await post('/p/several', [{ a: null, b: 1 }, { a: 'x' }, { c: true }]);
  t.match(body, [
    { a: null, b: 1, c: null },
    { a: 'x', b: null },
    { b: null, c: true },
  ]);
  t.match(await post('/p/nothing', [{ a: null }]), { status: 400, problems: [/'a' is null/] });
  t.match(await post('/p/nothing', []), { status: 400 });
  for (const body of [null, [null], [[]], ['a'], [{ a: 1 }, null]])
    t.match(await post('/p/nothing', body), { status: 400 }, JSON.stringify(body));
});

t.test('a space that exists gains fields, and what is stored of the others stays', async (t) => {
  const fields = fieldsOf('email TEXT unique required, password TEXT hashed');
  const structure = structureOf('p', 'users', fields);
  await harness.call({ path: '/p/users', structure, body: [{ email: 'ada@x' }] });
  t.match(await post('/p/users/_single_', { email: 'ada@x' }), { status: 400, code: 'not_unique' });
  t.match(await post('/p/users/_single_', { email: 7 }), { status: 400, problems: [/'email' should be/] });
  const { body } = await post('/p/users/_single_', { email: 'bob@x', password: 'p', age: 7 });
  t.match(body, { email: 'bob@x', age: 7 });
  t.notOk('password' in body);
  t.match(await stored('users'), [
    { name: 'email', unique: true, required: true },
    { name: 'password', hashed: true },
    { name: 'age', type: 'NUMBER', unique: false },
  ]);
  t.match(await post('/p/users/_single_', { email: 'c@x', b: 1 }, { mutate: 'false' }), {
    status: 400,
    problems: [/'b' is not in the structure/],
  });
});

t.test('a structure that is sent counts, and a read needs one that is stored', async (t) => {
  const structure = structureOf('p', 'sent', fieldsOf('a TEXT'));
  t.match(await harness.call({ path: '/p/sent', structure, headers, body: [{ b: 1 }] }), { status: 400 });
  t.match(await harness.call({ path: '/p/absent', headers }), {
    status: 404,
    code: 'record_space_not_found',
  });
  t.match(await post('/p/sent', [{ b: 1 }], { 'infer-structure': 'yes' }), {
    status: 400,
    code: 'invalid_header',
  });
});
