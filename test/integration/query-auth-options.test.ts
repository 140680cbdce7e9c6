/** authOptions: who may do what in a space, and what may not be got round. */
import t from 'tap';
import { type QueryCall, queryHarnessFor, testDatabase } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t, { config: { allowClearAllSpaces: true } });

const userFields: FieldInput[] = fieldsOf('email TEXT unique, password TEXT hashed');
const noteFields: FieldInput[] = fieldsOf('text TEXT');
const usersOf = (project: string, slug = 'user') => structureOf(project, slug, userFields);

async function loginToken(
  email: string,
  { project = 'p', slug = 'user', owner = 'owner' } = {},
): Promise<string> {
  const structure = usersOf(project, slug);
  await harness.call({ path: `/${project}/${slug}`, structure, owner, body: [{ email, password: 'p' }] });
  const { body } = await harness.call({
    path: `/${project}/function/login`,
    owner,
    headers: { 'function-resources': `{"mustExistSpaceStructures":[${structure}]}` },
    body: { email, password: 'p' },
  });
  return body.token;
}

const ada = await loginToken('ada@x');
const active = { active: true, space: 'User' };
const notes = (slug: string, authOptions?: object) => {
  const structure = structureOf('p', slug, noteFields, authOptions === undefined ? {} : { authOptions });
  const base = { path: `/p/${slug}`, structure };
  const call = (more: Partial<QueryCall>, token?: string) =>
    harness.call({
      ...base,
      ...more,
      headers: { ...(token === undefined ? {} : { token }), ...more.headers },
    });
  return {
    call,
    find: (token?: string) => call({}, token),
    findOne: (token?: string) => call({ path: `${base.path}/_single_` }, token),
    insert: (token?: string) => call({ body: [{ text: 'x' }] }, token),
    insertOne: (token?: string) => call({ path: `${base.path}/_single_`, body: { text: 'x' } }, token),
  };
};
const refused = { status: 401, code: 'unauthorized' };

t.test('operations in scope need a login token', async (t) => {
  const space = notes('all', active);
  for (const operation of ['find', 'findOne', 'insert', 'insertOne'] as const) {
    t.match(await space[operation](), {
      ...refused,
      problems: [new RegExp(`${operation} needs a login token.*'User'`)],
    });
    t.match(await space[operation]('nonsense'), refused);
    t.match(await space[operation](ada), { status: 200 }, operation);
  }
  t.equal((await space.find(ada)).body.length, 2, 'nothing of a refused request is stored');
});

t.test('operations out of scope do not', async (t) => {
  const reading = notes('reading', { ...active, scope: ['find'] });
  t.equal((await reading.insert()).status, 200);
  t.match(await reading.find(), refused);
  t.match(await reading.findOne(), refused);
  const writing = notes('writing', { ...active, scope: ['insert'] });
  t.match(await writing.insert(), refused);
  t.equal((await writing.find()).status, 200);
  const one = notes('one', { ...active, scope: ['insertOne'] });
  t.match(await one.insertOne(), refused);
  t.equal((await one.insert()).status, 200);
  t.equal((await notes('none', { ...active, scope: [] }).insert()).status, 200);
  t.equal((await notes('inactive', { ...active, active: false }).insert()).status, 200);
  t.match(await notes('implied', { space: 'User' }).insert(), refused);
});

t.test('each operation is in the scope of its family', async (t) => {
  const body = { all: true };
  const scopes: Readonly<Record<string, readonly Partial<QueryCall>[]>> = {
    find: [
      { path: '_count_' },
      { path: '_count_', method: 'QUERY', body: {}, headers: { 'content-type': 'application/json' } },
      { path: '_aggregate_', body: { values: { n: 'count' } } },
      { path: '_find_', body: {} },
      { path: 'search', query: 'searchText=x&searchableFields=text' },
      { path: 'get-key-values' },
    ],
    insert: [
      { path: '', body: [{ text: 'x' }] },
      { path: '_single_', body: { text: 'x' } },
    ],
    update: [
      { path: 'set-key-values', body: { text: 'x' } },
      { path: 'update-by-id', query: 'id=none', body: { text: 'y' } },
      { path: 'update', query: 'text=none', body: { text: 'y' } },
      { path: '_update_', body: { ...body, set: { text: 'x' } } },
    ],
    delete: [
      { path: '', method: 'DELETE', query: 'id=none' },
      { path: '_delete_', body: { where: { text: 'none' } } },
      { path: 'clear-records', method: 'DELETE' },
    ],
  };
  for (const [scope, calls] of Object.entries(scopes)) {
    const others = Object.keys(scopes).filter((other) => other !== scope);
    const inScope = notes(`scope-${scope}`, { ...active, scope: [scope] });
    const outOfScope = notes(`beside-${scope}`, { ...active, scope: others });
    for (const space of [inScope, outOfScope]) await space.insert();
    const text = async () =>
      JSON.stringify(
        (await notes(`scope-${scope}`).call({}, ada)).body.map((one: { text: string }) => one.text),
      );
    for (const one of calls) {
      const at = (slug: string) => ({ ...one, path: `/p/${slug}${one.path && `/${one.path}`}` });
      const before = await text();
      for (const token of [undefined, 'nonsense'])
        t.match(await inScope.call(at(`scope-${scope}`), token), refused, `${scope} ${one.path}`);
      t.equal(await text(), before);
      // what matches nothing, and so does no harm, is 400
      const expected = one.query === undefined || one.path === 'search' ? 200 : 400;
      t.equal((await inScope.call(at(`scope-${scope}`), ada)).status, expected, `${scope} ${one.path}`);
      const beside = await outOfScope.call(at(`beside-${scope}`));
      t.equal(beside.status, expected, `beside ${scope} ${one.path}`);
    }
  }
});

t.test('authOptions that make no sense are refused', async (t) => {
  for (const options of [
    {},
    { active: true },
    { active: 1, space: 'User' },
    { space: 'User', scope: ['all'] },
    [],
  ])
    t.match(await notes('nonsense', options).find(), { status: 400, code: 'invalid_structure' });
});

t.test('the rule is stored: leaving it out does not get round it', async (t) => {
  await notes('kept', { ...active, scope: ['find', 'insert'] }).insert(ada);
  t.match(await notes('kept').find(), refused);
  t.match(await notes('kept').insert(), refused);
  const stored = { path: '/p/kept', headers: { 'use-pre-stored-structure': 'true' } };
  t.match(await harness.call(stored), refused);
  t.match(await notes('kept').call({ headers: { mutate: 'false' } }), refused);
  t.match(await notes('kept', { active: false }).call({ headers: { mutate: 'false' } }), refused);
  harness.forget();
  t.match(await notes('kept').find(), refused);
  t.equal((await notes('kept').find(ada)).body.length, 1);
  await harness.restart();
  t.match(await notes('kept').find(), refused);
  t.equal((await notes('kept').find(ada)).body.length, 1);
  t.equal((await notes('kept', { active: false }).find()).status, 200, 'it is switched off by saying so');
  t.equal((await notes('kept').find()).status, 200);
});

t.test('a rule that may not be stored counts for its own request', async (t) => {
  await notes('own').find();
  t.match(await notes('own', active).call({ headers: { mutate: 'false' } }), refused);
  t.equal((await notes('own', active).call({ headers: { mutate: 'false' } }, ada)).status, 200);
  t.equal((await notes('own').find()).status, 200);
});

t.test('the token may come in the header, the options or the structure', async (t) => {
  const space = notes('places', active);
  const inOptions = (token: unknown) => ({ headers: { options: JSON.stringify({ token }) } });
  t.equal((await space.call(inOptions(ada))).status, 200);
  for (const token of ['', 'x', 1, null, { a: 1 }]) t.match(await space.call(inOptions(token)), refused);
  for (const options of ['"token', 'null', '["token"]', '"token"', '1']) {
    const { status } = await space.call({ headers: { options } });
    t.ok(status === 401, options);
  }
  t.match(
    await space.call({ headers: { ...inOptions(ada).headers, token: 'x' } }),
    refused,
    'the header comes first',
  );
  t.equal((await notes('places', { ...active, token: ada }).find()).status, 200);
  t.match(await space.find(), refused, 'a token in a structure is not kept');
  const rows = await harness.db.rows({
    sql: `SELECT structure FROM ${testDatabase}.record_spaces WHERE slug = 'places'`,
  });
  t.notMatch(JSON.stringify(rows), ada);
});

t.test('only tokens of users of the named space of the same project and account', async (t) => {
  const space = notes('strict', active);
  t.equal((await space.find(ada)).status, 200);
  for (const [name, token] of [
    ['another space', await loginToken('ada@x', { slug: 'member' })],
    ['another project', await loginToken('ada@x', { project: 'q' })],
    ['another account', await loginToken('ada@x', { owner: 'other' })],
  ] as const) {
    t.match(await space.find(token), refused, name);
  }
  t.match(await notes('nowhere', { ...active, space: 'NoSuch' }).find(ada), refused);
  for (const hostile of ["User' OR 1=1", '../user', 'function', '_users', 'x y', '😀']) {
    t.match(await notes('hostile', { ...active, space: hostile }).find(ada), refused, hostile);
  }
});

t.test('a space is meant by its slug before its name in lower case', async (t) => {
  const capital = await loginToken('ada@x', { slug: 'Person' });
  t.equal((await notes('capital', { ...active, space: 'Person' }).find(capital)).status, 200);
  const small = await loginToken('ada@x', { slug: 'person' });
  t.match(await notes('capital', { ...active, space: 'Person' }).find(small), refused);
  t.equal((await notes('small', { ...active, space: 'person' }).find(small)).status, 200);
});

t.test('a user that is gone has no token', async (t) => {
  const space = notes('gone', active);
  const token = await loginToken('gone@x');
  t.equal((await space.find(token)).status, 200);
  const users = { path: '/p/user', structure: usersOf('p') };
  const [{ id }] = (await harness.call({ ...users, query: 'email=gone%40x' })).body;
  t.equal((await harness.call({ ...users, method: 'DELETE', query: `id=${id}` })).status, 200);
  t.match(await space.find(token), refused);
});

t.test('a space of users may guard itself', async (t) => {
  const guarded = structureOf('p', 'user', userFields, { authOptions: { ...active, scope: ['find'] } });
  const call = (more: Partial<QueryCall>) => harness.call({ path: '/p/user', structure: guarded, ...more });
  t.match(await call({}), refused);
  t.equal((await call({ headers: { token: ada } })).status, 200);
  const login = await harness.call({
    path: '/p/function/login',
    headers: { 'function-resources': `{"mustExistSpaceStructures":[${guarded}]}` },
    body: { email: 'ada@x', password: 'p' },
  });
  t.equal(login.status, 200, 'login needs no token');
  const owner = await call({ path: '/p/user/get-token-owner', headers: { token: login.body.token } });
  t.match(owner.body, { email: 'ada@x' });
});

t.test('emptying a space is deleting', async (t) => {
  const guarded = notes('emptied', { ...active, scope: ['delete'] });
  await guarded.insert();
  const clearing = { headers: { 'clear-all-spaces': 'true' } };
  t.match(await guarded.call(clearing), refused);
  const structure = structureOf('p', 'emptied', noteFields, { clear: true });
  t.match(await harness.call({ path: '/p/emptied', structure }), refused);
  t.equal((await guarded.find()).body.length, 1);
  t.strictSame((await harness.call({ path: '/p/emptied', structure, headers: { token: ada } })).body, []);
});
