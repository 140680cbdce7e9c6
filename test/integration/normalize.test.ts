/** Fields that normalize their texts: one account, however its address is typed. */
import t from 'tap';
import { importSpaces } from '../services/import-spaces.ts';
import { projectsOf } from '../services/projects-client.ts';
import { queryHarnessFor, refusal, spaceOf } from '../services/query-harness.ts';
import { quickHasher } from '../services/quick-hasher.ts';
import { type FieldInput, fieldsOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t, { hasher: quickHasher(), freshness: { heardAfter: 0 } });

const normalize = ['nfc', 'trim', 'lower'];
const email: FieldInput = { name: 'email', type: 'TEXT', unique: true };
const normalizing: FieldInput = { ...email, normalize };
const others = fieldsOf('n NUMBER, password TEXT hashed');
const space = (slug: string, field: FieldInput = normalizing) =>
  spaceOf(harness, 'p', slug, [field, ...others]);
const emails = (rows: readonly { email: string }[]) => rows.map((row) => row.email);

const stored = 'zoé@x.io';
/** Other forms of one address. */
const forms = ['zoé@x.io', 'Zoé@x.io', ' ZOE\u0301@X.IO\n', '\ufeffzoe\u0301@x.io\u00a0'];

t.test('every form of a value finds the one that is stored', async (t) => {
  const users = space('users');
  const made = await users.insertOne({ email: forms[2], n: 1, password: 'right' });
  t.equal(made.body.email, stored);
  await users.insert([{ email: 'Other@x.io', n: 2 }]);
  const { id } = made.body;
  for (const form of forms) {
    t.match(await users.insertOne({ email: form }), refusal('not_unique'), form);
    t.match(await users.insert([{ email: 'new@x.io' }, { email: form }]), refusal('not_unique'));
    t.match(await users.updateOne([['n', '2']], { email: form }), refusal('not_unique'));
    for (const [operator, operand] of [
      ['eq', form],
      ['in', ['x', form]],
      ['gte', form],
      ['startsWith', form.trimStart().slice(0, 4)],
      ['contains', 'OE\u0301@x'],
      ['endsWith', '@X.io'],
    ] as const) {
      const body = { email: { [operator]: operand } };
      const query = { method: 'POST', path: `${users.path}/_find_`, structure: users.structure, body };
      t.ok(emails((await harness.call(query)).body).includes(stored), `${operator} ${form}`);
    }
    const nin = JSON.stringify({ email: { nin: [form] } });
    const query = { method: 'POST', path: `${users.path}/_find_`, structure: users.structure, body: nin };
    t.strictSame(emails((await harness.call(query)).body), ['other@x.io']);
    t.equal((await users.findOne([['email', form]])).body.id, id);
    t.match((await users.updateOne([['email', form]], { n: { $inc: 1 }, email: form })).body, {
      id,
      email: stored,
    });
    const onConflict = { onConflict: { field: 'email', do: 'update' } };
    const upserted = await users.insertOne({ email: form, n: 7 }, { options: JSON.stringify(onConflict) });
    t.match(upserted.body, { id, n: 7 });
    const resources = JSON.parse(users.structure);
    const login = await harness.call({
      path: '/p/function/login',
      body: { email: form, password: 'right' },
      headers: { 'function-resources': JSON.stringify({ mustExistSpaceStructures: [resources] }) },
    });
    t.equal(login.body.user?.id, id, `login ${form}`);
  }
  t.strictSame((await users.find([['email[startsWith]', ' zoé']])).body, [], 'a part keeps its spaces');
  const groups = await users.aggregate({ groupBy: ['email'], values: { n: 'count' } });
  t.match(groups.body, [{ email: 'other@x.io' }, { email: stored }]);
  const last = { values: { last: { max: 'email' } }, groupBy: ['email'] };
  for (const form of forms)
    t.match((await users.aggregate({ ...last, having: { last: form } })).body, [{ last: stored }]);
});

t.test('defaults, imports, initial data and populate', async (t) => {
  const kind = { name: 'kind', type: 'TEXT', defaultValue: ' Usual ', normalize: ['lower', 'trim'] };
  const users = await importSpaces(t, harness)('imported', [normalizing, kind]);
  const job = await users.run(`email,kind\n ADA@x.io,A \nada@x.io,\n"${forms[2]}",`, 'onError=skip');
  t.match(job, { inserted: 2, problemCount: 1 });
  t.match(await users.all(), [
    { email: 'ada@x.io', kind: 'a' },
    { email: stored, kind: 'usual' },
  ]);
  const more = { initialData: [{ email: 'Ada@x.io' }] };
  const begun = spaceOf(harness, 'p', 'begun', [normalizing], more);
  await begun.make();
  t.match(await begun.insertOne({ email: 'ADA@x.io' }), refusal('not_unique'));
  const notes = spaceOf(harness, 'p', 'notes', fieldsOf('by TEXT'));
  await notes.insertOne({ by: ' Ada@X.io' });
  const fields = { from: 'imported', localKey: 'by', foreignKey: 'email', newField: 'user' };
  const populate = [{ space: 'imported', fields }];
  t.match((await notes.find('', { populate })).body, [{ by: ' Ada@X.io', user: { kind: 'a' } }]);
});

t.test('what is no normalize is refused, and a structure says what is stored', async (t) => {
  for (const [field, problem] of [
    [{ ...email, normalize: 'lower' }, /'email' has a normalize that is not an array of trim, lower, nfc$/],
    [{ ...email, normalize: ['upper'] }, /is not an array/],
    [{ name: 'email', type: 'ARRAY', normalize: ['lower'] }, /has a normalize, which is for TEXT$/],
  ] as const)
    t.match(await space('refused', field).make(), refusal('invalid_structure', problem));
  const shown = (await projectsOf(harness).space('p', 'users')).body.fields[0];
  t.strictSame(shown.normalize, ['trim', 'lower', 'nfc']);
  await space('without', { ...email, normalize: [] }).make();
  t.notOk('normalize' in (await projectsOf(harness).space('p', 'without')).body.fields[0]);
});

t.test('a stored space gets it with its values, unless some of them would be equal', async (t) => {
  const plain = space('grown', email);
  const before = [
    'ada@x.io',
    ' Grace@x.io',
    'ΟΔΥΣΣΕΑΣ',
    'İx',
    ...Array.from({ length: 20 }, (_, n) => `U${n}`),
  ];
  const { body } = await plain.insert(before.map((value) => ({ email: value, password: 'right' })));
  const twins = (await plain.insert([{ email: 'Ada@x.io' }, { email: 'οδυσσεας' }])).body;
  const refused = await space('grown').find();
  t.match(
    refused,
    refusal('structure_conflict', /'email' can not become normalized: it is unique, and several/),
  );
  t.match(refused.problems, [
    new RegExp(`'ada@x.io' \\(records ${body[0].id}, ${twins[0].id}\\); 'οδυσσεας'`),
  ]);
  t.match((await plain.find('email=Ada@x.io')).body, [{}], 'nothing has changed');
  const unseen = spaceOf(harness, 'p', 'grown', [normalizing], {
    authOptions: { active: true, space: 'users' },
  });
  t.match(await unseen.find(), { status: 400 });
  for (const { id } of twins) await plain.deleteOneById(id);
  const grown = space('grown');
  t.strictSame(
    emails((await grown.find()).body),
    before.map((value) => value.trim().toLowerCase().normalize('NFC')),
  );
  for (const form of before) t.equal((await grown.findOne([['email', form]])).status, 200, form);
  t.match(await grown.insertOne({ email: 'GRACE@x.io' }), refusal('not_unique'));
  await harness.restart();
  t.match(await grown.insertOne({ email: 'GRACE@x.io' }), refusal('not_unique'));
  t.match((await grown.find('email=İX')).body, [{}]);

  const fewer = space('grown', { ...email, normalize: ['nfc'] });
  t.match(await fewer.insertOne({ email: 'GRACE@x.io' }), { status: 200 }, 'taken away again');
  t.match((await fewer.find('email=grace@x.io')).body, [{}], 'values stay');
  t.match(await grown.find(), refusal('structure_conflict', /'grace@x.io'/));
});

t.test('without unique, and of a hashed field', async (t) => {
  const fields = (more: object): FieldInput[] => [
    { name: 'a', type: 'TEXT', ...more },
    ...fieldsOf('n NUMBER'),
  ];
  const plain = spaceOf(harness, 'p', 'plain', fields({}));
  await plain.insert([{ a: 'X ' }, { a: 'x' }, { a: null }]);
  const now = spaceOf(harness, 'p', 'plain', fields({ normalize }));
  t.equal((await now.find('a=X')).body.length, 2);
  t.match(await spaceOf(harness, 'p', 'plain', fields({ normalize, unique: true })).find(), { status: 400 });
  const { structure } = spaceOf(harness, 'p', 'plain', fields({ defaultValue: ' BIG' }));
  const given = { path: '/p/plain/_single_', structure, headers: { mutate: 'false' }, body: { n: 1 } };
  t.match((await harness.call(given)).body, { a: 'big' }, 'the default of a request that changes nothing');
  const many = spaceOf(harness, 'p', 'many', fields({}));
  await many.insert(Array.from({ length: 10_001 }, (_, n) => ({ a: `É${n}` })));
  t.match(
    await spaceOf(harness, 'p', 'many', fields({ normalize })).find(),
    refusal('structure_conflict', /'a' can not become normalized: too many stored values beyond ASCII/),
  );
  t.match(await spaceOf(harness, 'p', 'many', fields({ normalize: ['nfc', 'trim'] })).find('a=É1 '), {
    body: [{}],
  });
  const hashed = spaceOf(harness, 'p', 'hashed', fields({ hashed: true }));
  await hashed.insertOne({ a: 'x' });
  t.match(
    await spaceOf(harness, 'p', 'hashed', fields({ hashed: true, normalize })).find(),
    refusal('structure_conflict', /'a' can not become normalized: 1 stored value is hashed$/),
  );
});
