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

t.test('times, days and exact numbers have types of the engine', async (t) => {
  const typed: FieldInput[] = [
    ...fieldsOf('at DATETIME, day DATE, whole INTEGER, big BIGINT, name TEXT'),
    { name: 'price', type: 'DECIMAL', precision: 18, scale: 2 },
    { name: 'exact', type: 'DECIMAL', precision: 38, scale: 10 },
  ];
  const types: Record<string, string> = {
    at: "Nullable(DateTime64(6, 'UTC'))",
    day: 'Nullable(Date32)',
    whole: 'Nullable(Int64)',
    big: 'Nullable(Int64)',
    price: 'Nullable(Decimal(18, 2))',
    exact: 'Nullable(Decimal(38, 10))',
  };
  const lowest = {
    at: '0001-01-01T00:00:00.000Z',
    day: '0001-01-01',
    whole: -9007199254740991,
    big: '-9223372036854775808',
    price: '-9999999999999999.99',
    exact: '-9999999999999999999999999999.9999999999',
  };
  const highest = {
    at: '9999-12-31T23:59:59.999999Z',
    day: '9999-12-31',
    whole: 9007199254740991,
    big: '9223372036854775807',
    price: '0.01',
    exact: '0.0000000001',
  };
  // eight columns for whole numbers of the engine: the second of these spaces has the same fields without one
  const filling = Array.from({ length: 8 }, (_, i) => ({ name: `i${i}`, type: 'BIGINT' }));
  for (const [slug, before] of Object.entries({ columns: [], 'no-columns': filling })) {
    const space = spaceOf(harness, 'exact', slug, structureOf('exact', slug, [...before, ...typed]));
    t.equal((await space.insert([lowest, highest, { name: 'none' }])).status, 200);
    const view = (await make({ project: 'exact' })).split('\n').find((line) => line.endsWith(`/${slug}`));
    const name = view?.split(' ')[0];
    const columns = await harness.db.rows<{ name: string; type: string }>({ sql: `DESCRIBE ${name}` });
    for (const { name, type } of columns) if (name in types) t.equal(type, types[name], name);
    // of the engine's texts, as its client shows them
    const shown = Object.keys(types).map((name) => `toString(${name}) AS ${name}`);
    const sql = `SELECT ${shown.join(', ')} FROM (SELECT * FROM ${name} ORDER BY id)`;
    const texts = ({ at, day, whole, ...rest }: typeof lowest) => ({
      at: `${at.slice(0, 10)} ${at.slice(11, -1).padEnd(15, '0')}`,
      day,
      whole: String(whole),
      ...rest,
    });
    const none = { at: null, day: null, whole: null, big: null, price: null, exact: null };
    t.strictSame(await harness.db.rows({ sql }), [texts(lowest), texts(highest), none], slug);
    const sums = await harness.db.rows({
      sql: `SELECT toString(sum(price)) AS price, countIf(at > toDateTime64('2026-01-31 12:00:00', 6, 'UTC')) AS late,
        countIf(day < toDate32('1970-01-01')) AS early FROM ${name}`,
    });
    t.match(sums, [{ price: '-9999999999999999.98', late: 1, early: 1 }]);
  }
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
