/** Names of fields and record spaces are people's own. */
import t from 'tap';
import { makeSpaceViews } from '#query/space/space-views.ts';
import { queryHarnessFor, spaceOf, testDatabase } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t);

const names = [
  ...['prénom', 'first name', 'a.b', '_x', '-', '名前', "x' OR '1'='1", 'd`; DROP TABLE records; --', '\\'],
  ...['"', '{x:String}', 'tags[]', 'a/b?c#d%20&e=f', 't0', 'space', '_id'],
  'n'.repeat(200),
];

t.test('a field may be called anything', async (t) => {
  const fields = names.map((name, n) => ({ name, type: 'TEXT', unique: n % 2 === 0 }));
  const space = spaceOf(harness, 'p', 'names', fields);
  const record = Object.fromEntries(names.map((name) => [name, `value of ${name}`]));
  const { body } = await space.insertOne(record);
  t.match(body, record);
  harness.forget();
  for (const name of names) {
    t.strictSame((await space.find([[name, `value of ${name}`]], { sort: { by: name } })).body, [body], name);
    t.strictSame((await space.search('VALUE', [name])).body, [body]);
  }
  const changes = Object.fromEntries(names.map((name) => [name, `other ${name}`]));
  t.match((await space.updateOneById(body.id, changes)).body, changes);
});

t.test('so may a record space', async (t) => {
  const fields = fieldsOf('a TEXT');
  for (const slug of names) {
    const path = `/p/${encodeURIComponent(slug)}`;
    const structure = structureOf('p', slug, fields);
    t.equal((await harness.call({ path, structure, body: [{ a: slug }] })).status, 200, slug);
  }
  harness.forget();
  for (const slug of names) {
    const path = `/p/${encodeURIComponent(slug)}`;
    const { body } = await harness.call({ path, structure: structureOf('p', slug, fields) });
    t.match(body, [{ a: slug }], 'each is a space of its own');
  }
  const views = await makeSpaceViews({ ...harness, database: testDatabase }, { project: 'p' }).catch(
    (error: Error) => error.message,
  );
  // the harness has no accounts, and so no views; a name that breaks the statement would be another error
  t.equal(views, 'there is no such record space');
});

t.test('a login by the name of the space', async (t) => {
  const fields = [
    { name: 'e mail', type: 'TEXT', unique: true },
    { name: 'mot de passe', type: 'TEXT', hashed: true },
  ];
  const structure = structureOf('p', 'mes utilisateurs', fields);
  await harness.call({
    path: '/p/mes%20utilisateurs',
    structure,
    body: [{ 'e mail': 'a@x', 'mot de passe': 'p' }],
  });
  const { body } = await harness.call({
    path: '/p/function/login',
    headers: { 'function-resources': `{"mustExistSpaceStructures":[${structure}]}` },
    body: { 'e mail': 'a@x', 'mot de passe': 'p' },
  });
  const guarded = structureOf('p', 'notes', fieldsOf('a TEXT'), {
    authOptions: { space: 'Mes Utilisateurs' },
  });
  const insert = (headers = {}) =>
    harness.call({ path: '/p/notes', structure: guarded, body: [{ a: 'x' }], headers });
  t.match(await insert(), { status: 401 });
  t.match(await insert({ token: body.token }), { status: 200 });
});
