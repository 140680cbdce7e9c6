/** populate: records get the records of other spaces that their keys name. */
import t from 'tap';
import type { Database } from '#engine/database.ts';
import { type QueryCall, queryHarnessFor } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';

let statements: string[] = [];
const counted = (db: Database): Database =>
  new Proxy(db, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        const { sql } = (args[0] ?? {}) as { sql?: string };
        if (sql !== undefined) statements.push(sql);
        return (value as (...all: unknown[]) => unknown).apply(target, args);
      };
    },
  });
const harness = await queryHarnessFor(t, { singleWriter: true, wrap: counted });

const userFields: FieldInput[] = fieldsOf('email TEXT unique, city TEXT, age NUMBER, password TEXT hashed');
const postFields: FieldInput[] = fieldsOf(
  'title TEXT, authorId/author-id TEXT, email TEXT, city TEXT, age NUMBER',
);
const users = structureOf('p', 'user', userFields);
const posts = structureOf('p', 'post', postFields);

const insert = async (path: string, structure: string, body: unknown, more: Partial<QueryCall> = {}) => {
  const answer = await harness.call({ path, structure, body, ...more });
  if (answer.status !== 200) throw new Error(answer.problems.join());
  return answer.body;
};
const [ada, bob, carl] = await insert('/p/user', users, [
  { email: 'ada@x', city: 'London', age: 36, password: 'secret' },
  { email: 'bob@x', city: 'London', age: 7 },
  { email: 'carl@x' },
]);
await insert('/p/post', posts, [
  { title: 'a1', authorId: ada.id, email: 'ada@x', city: 'London', age: 36 },
  { title: 'b', authorId: bob.id, email: 'bob@x', city: 'Paris', age: 7 },
  { title: 'none' },
  { title: 'unknown', authorId: 'nobody', email: 'nobody@x', city: 'Rome', age: 1 },
  { title: 'a2', authorId: ada.id, email: 'ada@x' },
]);

const by = (foreignKey: string, localKey: string, newField = 'author', space = 'User') => ({
  populate: [{ space, fields: { from: space, foreignKey, localKey, newField } }],
});
const ask = (options: object, more: Partial<QueryCall> = {}) =>
  harness.call({
    path: '/p/post',
    structure: posts,
    ...more,
    headers: { options: JSON.stringify(options), ...more.headers },
  });
const authors = (body: readonly { author: unknown }[]): unknown[] => body.map(({ author }) => author);

t.test('find, by id, by a unique value and by any value', async (t) => {
  const byId = await ask(by('id', 'authorId'));
  t.strictSame(authors(byId.body), [ada, bob, null, null, ada]);
  t.notOk('password' in byId.body[0].author, 'hashed fields are in no answer');
  t.strictSame(Object.keys(byId.body[0]).at(-1), 'author');
  t.strictSame(byId.body[0].title, 'a1');
  t.strictSame(authors((await ask(by('id', 'author-id'))).body), authors(byId.body), 'a slug names the key');
  t.strictSame(authors((await ask(by('email', 'email'))).body), [ada, bob, null, null, ada]);
  const oldest = authors((await ask(by('city', 'city'))).body);
  t.strictSame(oldest, [ada, null, null, null, null], 'of several the oldest');
  t.strictSame(authors((await ask(by('age', 'age'))).body), [ada, bob, null, null, null]);
});

t.test('findOne and search', async (t) => {
  const one = await ask(by('id', 'authorId'), { path: '/p/post/_single_', query: 'title=b' });
  t.match(one.body, { title: 'b', author: bob });
  const none = await ask(by('id', 'authorId'), { path: '/p/post/_single_', query: 'title=zz' });
  t.equal(none.body, null);
  const found = await ask(by('id', 'authorId'), {
    path: '/p/post/search',
    query: 'searchText=A&searchableFields[]=title',
  });
  t.strictSame(authors(found.body), [ada, ada]);
});

t.test('pages, order, several spaces, and a new field that takes the place of the key', async (t) => {
  const options = {
    ...by('id', 'authorId', 'authorId'),
    sort: { by: 'title', order: 'desc' },
    pagination: { limit: 2, page: 2 },
  };
  const { body } = await ask(options);
  t.match(body, [
    { title: 'b', authorId: { email: 'bob@x' } },
    { title: 'a2', authorId: { email: 'ada@x' } },
  ]);
  const back = await harness.call({
    path: '/p/user',
    structure: users,
    headers: {
      options: JSON.stringify({
        populate: [
          ...by('authorId', 'id', 'first', 'post').populate,
          ...by('city', 'city', 'here', 'post').populate,
        ],
      }),
    },
  });
  t.match(back.body, [
    { email: 'ada@x', first: { title: 'a1' }, here: { title: 'a1' } },
    { email: 'bob@x', first: { title: 'b' }, here: { title: 'a1' } },
    { email: 'carl@x', first: null, here: null },
  ]);
  t.equal(back.body[2].id, carl.id);
});

t.test('a page is one look-up, and many records are streamed in blocks', async (t) => {
  statements = [];
  t.equal((await ask(by('id', 'authorId'))).body.length, 5);
  t.equal(statements.filter((sql) => sql.includes('LIMIT 1 BY')).length, 1);
  const many = structureOf('p', 'many', postFields);
  const rows = Array.from({ length: 1201 }, (_, n) => ({
    title: `é\n${n}`,
    authorId: n % 2 ? ada.id : bob.id,
  }));
  await insert('/p/many', many, rows);
  statements = [];
  const { body } = await ask(by('id', 'authorId'), { path: '/p/many', structure: many });
  t.equal(statements.filter((sql) => sql.includes('LIMIT 1 BY')).length, 3);
  t.strictSame(
    body.map(({ title, author }: { title: string; author: { email: string } }) => [title, author.email]),
    rows.map(({ title }, n) => [title, n % 2 ? 'ada@x' : 'bob@x']),
  );
});

t.test('an answer is never older than a write to the other space', async (t) => {
  const call = () => ask(by('id', 'authorId'), { path: '/p/post/_single_', query: 'title=a1' });
  await call();
  t.equal((await call()).body.author.city, 'London');
  await harness.call({
    path: '/p/user/update-by-id',
    structure: users,
    query: [['id', ada.id]],
    body: { city: 'Rome' },
  });
  t.equal((await call()).body.author.city, 'Rome');
});

t.test('nothing is found in spaces of other accounts and projects, or that do not exist', async (t) => {
  const elsewhere = { owner: 'other' };
  const structure = structureOf('q', 'post', postFields);
  await insert('/q/post', structure, [{ authorId: ada.id }]);
  t.strictSame(authors((await ask(by('id', 'authorId'), { path: '/q/post', structure })).body), [null]);
  await insert('/p/post', posts, [{ authorId: ada.id }], elsewhere);
  t.strictSame(authors((await ask(by('id', 'authorId'), elsewhere)).body), [null]);
  t.equal((await ask(by('id', 'authorId', 'x', 'nosuch'))).body[0].x, null);
});

t.test('authOptions of the other space hold', async (t) => {
  const guarded = structureOf('p', 'guarded', userFields, {
    authOptions: { active: true, space: 'User', scope: ['find'] },
  });
  await insert('/p/guarded', guarded, [{ email: 'ada@x', city: 'Oslo' }]);
  const options = by('email', 'email', 'author', 'guarded');
  t.match(await ask(options), { status: 401, problems: [/login token/] });
  const { body } = await harness.call({
    path: '/p/function/login',
    headers: { 'function-resources': `{"mustExistSpaceStructures":[${users}]}` },
    body: { email: 'ada@x', password: 'secret' },
  });
  const allowed = await ask(options, { headers: { token: body.token } });
  t.equal(allowed.body[0].author.city, 'Oslo');
});

t.test('what can not be populated is a 400 that says why', async (t) => {
  const refused = async (options: object, problem: RegExp) =>
    t.match(await ask(options), { status: 400, code: 'invalid_options', problems: [problem] });
  await refused({ populate: 'x' }, /populate should be an array/);
  await refused({ populate: [{ fields: {} }] }, /populate\[0\]\.space/);
  await refused({ populate: new Array(11).fill(by('id', 'authorId').populate[0]) }, /11 entries/);
  await refused(by('id', 'nosuch'), /localKey names 'nosuch'/);
  await refused(by('nosuch', 'authorId'), /foreignKey 'nosuch'.*not a field/);
  await refused(by('password', 'authorId'), /hashed/);
  await refused(by('age', 'authorId'), /NUMBER.*TEXT/);
  for (const name of ['id', 'createdAt', '__proto__']) await refused(by('id', 'authorId', name), /reserved/);
});
