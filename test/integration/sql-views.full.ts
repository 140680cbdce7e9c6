/** Views for people with SQL: columns by the names of fields, whatever these are. */
import t from 'tap';
import { Users } from '#catalogue/users.ts';
import { makeSpaceViews } from '#query/space/space-views.ts';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t, { singleWriter: false });
const users = new Users({ db: harness.db, database: 'sluice' });
await users.create({ id: 'owner', email: 'ada@example.com', name: '' });
await users.create({ id: 'other', email: 'bob@example.com', name: '' });

const odd = [
  ...['space', 't0', 't1', '_id', '_doc', 'value_0', 'value_1', 'value__2'],
  ...['`; DROP TABLE sluice.records; --', "it's", 'back\\slash', 'a.b', 'a', 'a.null', 'Größe 😀', '*'],
  ...['select', '{x:String}'],
  'n'.repeat(128),
];
const fields: FieldInput[] = odd.map((name, index) => ({ name, slug: `f${index}`, type: 'TEXT' }));
const make = (order = {}) => makeSpaceViews({ ...harness, database: 'sluice' }, order);

t.test('odd names of fields', async (t) => {
  const structure = structureOf('shop', 'odd-names', fields);
  const space = spaceOf(harness, 'shop', 'odd-names', structure);
  const record = Object.fromEntries(odd.map((name, index) => [name, `value ${index}`]));
  const { body } = await space.insertOne(record);
  const line = (await make({ project: 'shop' })).split('\n');
  t.equal(line.length, 1);
  const [view = '', account, place] = (line[0] ?? '').split(/ +/);
  t.match(view, /^sluice_views\.shop_odd_names_[0-9a-f]{12}$/);
  t.strictSame([account, place], ['ada@example.com', 'shop/odd-names']);
  const rows = await harness.db.rows({ sql: `SELECT * FROM ${view}` });
  t.strictSame(rows, [body]);
  t.strictSame(
    await harness.db.rows({ sql: `SELECT \`space\`, \`t0\` FROM ${view} WHERE \`space\` = 'value 0'` }),
    [{ space: 'value 0', t0: 'value 1' }],
  );
});

t.test('types, hashed fields, values that have no column', async (t) => {
  const many = Array.from({ length: 12 }, (_, i) => ({
    name: `flag ${i}`,
    slug: `flag${i}`,
    type: 'BOOLEAN',
  }));
  const structure = structureOf('types', 'all', [
    { name: 'number', type: 'NUMBER' },
    { name: 'tags', type: 'ARRAY' },
    { name: 'password', type: 'TEXT', hashed: true },
    ...many,
  ]);
  const space = spaceOf(harness, 'types', 'all', structure);
  const flags = Object.fromEntries(many.map(({ name }, i) => [name, i % 2 === 0]));
  await space.insertOne({ number: 1.5, tags: [1, 'x'], password: 'secret', ...flags });
  await space.insertOne({ number: 2 });
  const view = (await make({ project: 'types' })).split(' ')[0];
  const columns = await harness.db.rows<{ name: string; type: string }>({ sql: `DESCRIBE ${view}` });
  t.strictSame(
    columns.map(({ name, type }) => `${name} ${type}`),
    [
      'id String',
      'number Nullable(Float64)',
      'tags Nullable(String)',
      ...many.map(({ name }) => `${name} Nullable(Bool)`),
      "createdAt DateTime64(3, 'UTC')",
      "updatedAt DateTime64(3, 'UTC')",
    ],
  );
  const rows = await harness.db.rows({ sql: `SELECT * FROM ${view} ORDER BY id` });
  t.match(rows, [
    { number: 1.5, tags: '[1,"x"]', ...flags },
    { number: 2, tags: null, 'flag 0': null, 'flag 11': null },
  ]);
  // as the service answers them
  t.match((await space.find()).body, [{ number: 1.5, tags: [1, 'x'], ...flags }, { 'flag 11': null }]);
});

t.test('a view has the records of its space only, and follows its structure', async (t) => {
  const structure = structureOf('p', 's', fieldsOf('space/a TEXT'));
  const { body } = await harness.call({ path: '/p/s', structure, body: [{ space: 'of ada' }] });
  const ids = (body as { id: string }[]).map(({ id }) => id);
  await harness.call({ path: '/p/s', structure, body: [{ space: 'of bob' }], owner: 'other' });
  const views = (await make({ project: 'p' })).split('\n').map((line) => line.split(' ')[0]);
  t.equal(new Set(views).size, 2);
  t.match(await harness.db.rows({ sql: `SELECT * FROM ${views[0]}` }), [{ space: 'of ada', id: ids[0] }]);
  t.match(await harness.db.rows({ sql: `SELECT * FROM ${views[1]}` }), [{ space: 'of bob' }]);
  t.equal((await make({ email: 'BOB@example.com' })).split('\n').length, 1);
  const wider = structureOf('p', 's', fieldsOf('space/a TEXT, more NUMBER'));
  await harness.call({ path: '/p/s', structure: wider, body: [{ space: 'again', more: 2 }] });
  await make();
  t.match(await harness.db.rows({ sql: `SELECT * FROM ${views[0]} ORDER BY id` }), [
    { space: 'of ada', more: null },
    { space: 'again', more: 2 },
  ]);
  await t.rejects(make({ project: "x' OR 1 --" }), /there is no such record space/);
});
