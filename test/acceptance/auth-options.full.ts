/** authOptions over HTTP: a space that only the users of an application may read or write. */
import t from 'tap';
import { type Answer, call, structureOf } from '../services/record-client.ts';
import { removeData, startSluice } from '../services/start-sluice.ts';

let sluice = await startSluice();
t.teardown(async () => {
  await sluice.stop();
  await removeData(sluice);
});

const users = structureOf('app', 'user', [
  { name: 'email', type: 'TEXT', unique: true },
  { name: 'password', type: 'TEXT', hashed: true },
]);
const credentials = { email: 'ada@x', password: 'p' };
const send = (args: Partial<Parameters<typeof call>[0]> & { path: string }): Promise<Answer> =>
  call({ baseUrl: sluice.baseUrl, token: sluice.token, ...args });
await send({ path: '/app/user', structure: users, body: [credentials] });
const login = await send({
  path: '/app/function/login',
  headers: { 'function-resources': `{"mustExistSpaceStructures":[${users}]}` },
  body: credentials,
});
const token: string = login.body.token;

const authOptions = { active: true, space: 'User' };
const notes = (slug: string, options: object | null, headers: Record<string, string> = {}) => {
  const structure = structureOf(
    'app',
    slug,
    [{ name: 'text', type: 'TEXT' }],
    options === null ? {} : { authOptions: options },
  );
  const path = `/app/${slug}`;
  const base = { path, structure, headers };
  const body = { text: 'x' };
  return {
    find: () => send(base),
    findOne: () => send({ ...base, path: `${path}/_single_` }),
    search: () => send({ ...base, path: `${path}/search?searchText=x&searchableFields[]=text` }),
    count: () => send({ ...base, path: `${path}/_count_` }),
    aggregate: () => send({ ...base, path: `${path}/_aggregate_`, body: { values: { n: 'count' } } }),
    getKeys: () => send({ ...base, path: `${path}/get-key-values` }),
    insert: () => send({ ...base, body: [body] }),
    insertOne: () => send({ ...base, path: `${path}/_single_`, body }),
    updateOne: () => send({ ...base, path: `${path}/update?text=x`, body }),
    updateOneById: () => send({ ...base, path: `${path}/update-by-id?id=${noId}`, body }),
    setKeys: () => send({ ...base, path: `${path}/set-key-values`, body }),
    deleteOneById: () => send({ ...base, path: `${path}?id=${noId}`, method: 'DELETE' }),
    clear: () => send({ ...base, path: `${path}/clear-records`, method: 'DELETE' }),
  };
};
const noId = '01900000-0000-7000-8000-000000000000';
type Operation = keyof ReturnType<typeof notes>;
const families: Readonly<Record<string, readonly Operation[]>> = {
  find: ['find', 'findOne', 'search', 'count', 'aggregate', 'getKeys'],
  insert: ['insert', 'insertOne'],
  update: ['updateOne', 'updateOneById', 'setKeys'],
  delete: ['deleteOneById', 'clear'],
};
const everything = Object.values(families).flat();
const refused = { status: 401, body: { code: 'unauthorized', error: [/login token/] } };

t.test('operations in scope need a login token', async (t) => {
  const guardedBy: (readonly [string, readonly string[] | undefined, readonly Operation[]])[] = [
    ['all', undefined, everything],
    ['none', [], []],
    ...Object.entries(families).map(([family, names]) => [family, [family], names] as const),
    ['single', ['updateOneById', 'clear'], ['updateOneById', 'clear']],
  ];
  for (const [slug, scope, guarded] of guardedBy) {
    const options = { ...authOptions, ...(scope === undefined ? {} : { scope }) };
    for (const operation of everything) {
      const without = await notes(slug, options)[operation]();
      const wrong = await notes(slug, options, { token: 'x' })[operation]();
      const good = await notes(slug, options, { token })[operation]();
      t.not(good.status, 401, `${slug} ${operation}`);
      for (const answer of [without, wrong]) {
        if (guarded.includes(operation)) t.match(answer, refused, `${slug} ${operation}`);
        else t.not(answer.status, 401, `${slug} ${operation}`);
      }
    }
  }
});

t.test('nothing of a refused request is done', async (t) => {
  const open = notes('undone', { ...authOptions, active: false });
  await open.insertOne();
  const before = (await open.find()).body;
  const guarded = notes('undone', authOptions);
  for (const operation of everything) t.equal((await guarded[operation]()).status, 401, operation);
  t.strictSame((await notes('undone', authOptions, { token }).find()).body, before);
});

t.test('the token may come in the options', async (t) => {
  const inOptions = { options: JSON.stringify({ token, paramRelationship: 'And' }) };
  t.equal((await notes('options', authOptions, inOptions).find()).status, 200);
  t.match(await notes('options', authOptions, { options: '{"token":"x"}' }).find(), refused);
});

t.test('the rule is kept, also over a restart', async (t) => {
  await notes('kept', authOptions, { token }).insert();
  t.match(await notes('kept', null).find(), refused);
  await sluice.stop();
  sluice = await sluice.restart();
  t.match(await notes('kept', null).find(), refused);
  t.match((await notes('kept', null, { token }).find()).body, [{ text: 'x' }]);
  t.equal((await notes('kept', { active: false }).find()).status, 200);
});

t.test('an access token is needed as well', async (t) => {
  const structure = structureOf('app', 'all', [{ name: 'text', type: 'TEXT' }]);
  const answer = await send({ path: '/app/all', structure, token, headers: { token } });
  t.match(answer, { status: 401, body: { error: [/access token/] } });
});

t.test('authOptions that make no sense are refused', async (t) => {
  for (const options of [
    {},
    { active: true },
    { active: 1, space: 'User' },
    { space: 'User', scope: ['all'] },
    [],
  ]) {
    t.match(await notes('nonsense', options).find(), { status: 400, body: { code: 'invalid_structure' } });
  }
});
