/** A field's type changes with its values, and nothing of them is lost. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import { sweepLeft } from '#query/space/removals.ts';
import { TableCatalogue } from '#query/space/table-catalogue.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { plainStore } from '../services/plain-store.ts';
import { projectsOf } from '../services/projects-client.ts';
import { queryHarnessFor, refusal, spaceOf, testDatabase } from '../services/query-harness.ts';
import { quickHasher } from '../services/quick-hasher.ts';
import { type FieldInput, fieldsOf } from '../services/record-client.ts';
import { silentLog } from '../services/silent-log.ts';
import { full } from '../services/test-size.ts';

const forever = Number.POSITIVE_INFINITY;
/** Called when values have been converted, before the field has its new type. */
let onConverted: () => Promise<void> = async () => {};
/** Called before values are hashed. */
let onHash: () => Promise<void> = async () => {};
const hasher = quickHasher();
const harness = await queryHarnessFor(t, {
  hasher: {
    ...hasher,
    async hashValues(...args) {
      await onHash();
      return hasher.hashValues(...args);
    },
  },
  wrap: (db) => ({
    ...db,
    async command(statement) {
      await db.command(statement);
      if (statement.sql.startsWith('UPDATE') && !statement.sql.includes('mapFilter')) await onConverted();
    },
  }),
  config: { allowClearAllSpaces: true },
  freshness: { freshFor: forever, staleAfter: forever, outdatedAfter: 0 },
});

const space = (slug: string, fields: readonly FieldInput[], more: object = {}) =>
  spaceOf(harness, 'p', slug, fields, more);
const typed = (slug: string, type: string, more: object = {}) => space(slug, [{ name: 'a', type, ...more }]);
const stored = async (slug: string) =>
  (await harness.call({ path: `/p/${slug}`, headers: { 'use-pre-stored-structure': 'true' } })).body;
const typeOf = async (slug: string): Promise<string> =>
  (await projectsOf(harness).space('p', slug)).body.fields[0].type;
const slotsOf = (slug: string) =>
  harness.db.rows<{ slots: string[] }>({
    sql: `SELECT mapKeys(_doc) AS slots FROM ${testDatabase}.records WHERE space = '${uuidV5('owner', 'p', slug)}' ORDER BY _id`,
  });

t.test('a field without a value takes any type', async (t) => {
  const fields = (type: string): FieldInput[] => [
    { name: 'a', type },
    { name: 'b', type: 'TEXT' },
  ];
  await space('empty', fields('TEXT')).insertOne({ b: 'x' });
  for (const [type, value] of [
    ['ARRAY', [1]],
    ['BOOLEAN', true],
    ['OBJECT', { x: 1 }],
    ['NUMBER', 5],
    ['TEXT', 'y'],
  ] as const) {
    const now = space('empty', fields(type));
    t.match((await now.find()).body, [{ a: null, b: 'x' }], type);
    const { body } = await now.insertOne({ a: value });
    t.strictSame(body.a, value);
    t.equal(await typeOf('empty'), type);
    t.match(
      await space('empty', fields(type === 'ARRAY' ? 'OBJECT' : 'ARRAY')).find(),
      refusal(
        'structure_conflict',
        new RegExp(`: 1 of 1 stored value does not convert: '.*' in record ${body.id}$`),
      ),
    );
    await now.deleteOneById(body.id);
  }
});

t.test('and so does one of a space that was cleared', async (t) => {
  const fields = fieldsOf('h TEXT hashed');
  await typed('cleared', 'TEXT').insert([{ a: 'x' }, { a: 'y' }]);
  t.match(await typed('cleared', 'NUMBER').find(), { status: 400 });
  await typed('cleared', 'TEXT').clear();
  t.strictSame((await typed('cleared', 'NUMBER').find()).body, []);
  t.match((await typed('cleared', 'NUMBER').insertOne({ a: 1 })).body, { a: 1 });

  await space('hashes', fields).insertOne({ h: 'secret' });
  const number = space('hashes', fieldsOf('h NUMBER hashed'));
  t.match(await number.find(), { status: 400, problems: [/'h'.*NUMBER: 1 stored value is hashed$/] });
  await space('hashes', fields).clear();
  const { id } = (await number.insertOne({ h: 1 })).body;
  t.strictSame((await number.find(`h=1&id=${id}`)).problems, []);
  t.match((await number.find(`h=1&id=${id}`)).body, [{ id }]);
});

t.test('texts become numbers and booleans, and numbers and booleans texts', async (t) => {
  const text = typed('there', 'TEXT');
  const values = ['12', '-0.50', '1e+21', '0', '9007199254740992', null];
  await text.insert(values.map((a) => ({ a })));
  await text.find('a=12');
  const number = typed('there', 'NUMBER');
  const numbers = (await number.find()).body;
  t.strictSame(
    numbers.map(({ a }: { a: unknown }) => a),
    [12, -0.5, 1e21, 0, 9007199254740992, null],
  );
  t.match((await number.find('a=-0.5')).body, [{ a: -0.5 }], 'conditions');
  t.strictSame((await number.find('', { sort: { by: 'a', order: 'desc' } })).body[0].a, 1e21, 'sorts');
  t.match((await number.findOne([['id', numbers[1].id]])).body, { a: -0.5, updatedAt: numbers[1].updatedAt });
  t.match((await number.updateOneById(numbers[0].id, { a: 13 })).body, { a: 13 });
  t.match(await number.updateOneById(numbers[0].id, { a: '13' }), refusal('invalid_value'));
  await harness.restart();
  t.strictSame((await stored('there'))[0].a, 13);
  const back = (await typed('there', 'TEXT').find()).body;
  t.strictSame(
    back.map(({ a }: { a: unknown }) => a),
    ['13', '-0.5', '1e+21', '0', '9007199254740992', null],
  );
  await typed('truths', 'BOOLEAN').insert([{ a: true }, { a: false }]);
  t.match((await typed('truths', 'TEXT').find()).body, [{ a: 'true' }, { a: 'false' }]);
  t.match((await typed('truths', 'BOOLEAN').find('a=false')).body, [{ a: false }]);
});

t.test('the 400 counts what does not convert, and shows one and its record', async (t) => {
  const long = 'x'.repeat(5000);
  const inserted = await typed('misfits', 'TEXT').insert(
    [long, '1', '007', 'true', ' 1'].map((a) => ({ a })),
  );
  const [{ id }] = inserted.body;
  const before = await stored('misfits');
  t.match(
    await typed('misfits', 'NUMBER').find(),
    refusal(
      'structure_conflict',
      `Field 'a' is stored as TEXT and can not become NUMBER: 4 of 5 stored values do not convert, such as '${'x'.repeat(100)}…' in record ${id}`,
    ),
  );
  t.match(await typed('misfits', 'BOOLEAN').find(), {
    status: 400,
    problems: [/4 of 5 stored values do not/],
  });
  t.match(await typed('misfits', 'ARRAY').find(), { status: 400, problems: [/5 of 5 stored values do not/] });
  t.strictSame(await stored('misfits'), before, 'nothing changed');
  t.match(await typed('misfits', 'NUMBER').find('', {}, { mutate: 'false' }), {
    status: 400,
    problems: [/^Field 'a' is stored as TEXT and can not become NUMBER$/],
  });
  const both = space('misfits', fieldsOf('a NUMBER, A/b TEXT, a/c TEXT'));
  t.match(await both.find(), { status: 400 });
  const active = { authOptions: { active: true, space: 'misfits', scope: ['find'] } };
  await space('misfits', fieldsOf('a TEXT'), active).make();
  const { problems } = await space('misfits', fieldsOf('a NUMBER'), active).make();
  t.match(problems, [/4 of 5 stored values do not convert$/], 'who is not logged in sees no value');
});

t.test('all that stands in the way is said at once, and nothing changes', async (t) => {
  const fields: FieldInput[] = fieldsOf('n TEXT, must TEXT, plain TEXT');
  await space('several', fields).insert([{ n: '1' }, { n: '2' }]);
  const asked = space('several', fieldsOf('n NUMBER, must TEXT required'));
  t.match(await asked.find(), { status: 400, problems: [/'must' can not become required: 2/] });
  t.equal(await typeOf('several'), 'TEXT');
  const hashed = space('several', fieldsOf('n BOOLEAN, plain TEXT hashed'));
  t.match(await hashed.find(), { status: 400, problems: [/'n'.*2 of 2/, /'plain'.*hashed/] });
  const fine = space('several', [
    { name: 'n', type: 'NUMBER', required: true, defaultValue: 7, unique: true },
    { name: 'must', type: 'ARRAY' },
    { name: 'more', type: 'TEXT' },
  ]);
  t.match((await fine.insertOne({ must: [1], more: 'x' })).body, { n: 7, must: [1] });
  t.match(await fine.insertOne({ n: 2 }), refusal('not_unique'));
});

t.test('unique values stay unique, and are found', async (t) => {
  const text = typed('unique', 'TEXT', { unique: true });
  await text.insert(['1', '2.5', '3'].map((a) => ({ a })));
  const number = typed('unique', 'NUMBER', { unique: true });
  t.match((await number.find('a=2.5')).body, [{ a: 2.5 }]);
  t.match(await number.insertOne({ a: 2.5 }), refusal('not_unique'));
  t.match(await number.insertOne({ a: 4 }), { status: 200 });
  await harness.restart();
  t.match(await number.insertOne({ a: 4 }), refusal('not_unique'));
  t.match(await number.insertOne({ a: 3 }), refusal('not_unique'));
  t.match((await number.find('a=1')).body, [{ a: 1 }]);
  const same = typed('same', 'TEXT', { unique: true });
  await same.insert(['1.5', '1.50', '2'].map((a) => ({ a })));
  t.match(await typed('same', 'NUMBER', { unique: true }).find(), {
    status: 400,
    problems: [/it is unique, and several stored values would become equal: '1.5' \(records [^ ]+, [^ ]+\)$/],
  });
  t.match((await same.find('a=1.50')).body, [{ a: '1.50' }]);
});

t.test('fields that have no column change as well', async (t) => {
  const many = (from: string): FieldInput[] =>
    Array.from({ length: 30 }, (_, i) => ({ name: `f${i}`, type: i === 29 ? from : 'TEXT' }));
  await space('overflow', many('TEXT')).insert([{ f0: 'x', f29: '1.5' }, { f0: 'y' }]);
  const numbers = space('overflow', many('NUMBER'));
  t.match((await numbers.find('f29=1.5')).body, [{ f0: 'x', f29: 1.5 }]);
  t.match((await space('overflow', many('TEXT')).find('f29=1.5')).body, [{ f0: 'x', f29: '1.5' }]);
  const all = Array.from({ length: 30 }, (_, i) => ({ name: `f${i}`, type: 'ARRAY' }));
  t.match(await space('overflow', all).find(), { status: 400, problems: [/'f0'.*2 of 2/, /'f29'.*1 of 1/] });
});

t.test('the digits behind a point change in memory as in the engine', async (t) => {
  const priced = (scale: number): FieldInput[] => [
    ...fieldsOf('code TEXT'),
    { name: 'price', type: 'DECIMAL', precision: 12, scale },
  ];
  const two = space('memory', priced(2));
  const three = space('memory', priced(3));
  await two.insert(['0.05', '-1.10', '10.00', '9.99'].map((price, i) => ({ code: `c${i}`, price })));
  const sorted = { sort: { by: 'price', order: 'asc' } };
  const prices = async (by: typeof two, query: string): Promise<string[]> =>
    (await by.find(query, sorted)).body.map(({ price }: { price: string }) => price);
  // an index of the values in memory is built by reads
  for (let i = 0; i < 3; i++) t.strictSame(await prices(two, 'price=9.99'), ['9.99']);
  t.strictSame(await prices(two, ''), ['-1.10', '0.05', '9.99', '10.00']);
  t.match(await three.insertOne({ code: 'new', price: '9.985' }), { status: 200 });
  for (const reads of ['memory', 'the engine']) {
    t.strictSame(await prices(three, ''), ['-1.100', '0.050', '9.985', '9.990', '10.000'], reads);
    t.strictSame(await prices(three, 'price=9.99'), ['9.990'], reads);
    t.strictSame(await prices(three, 'price[gt]=9.98'), ['9.985', '9.990', '10.000'], reads);
    harness.forget();
  }
});

t.test('a decimal outgrows its column, and returns to one', async (t) => {
  const exact = (precision: number, scale: number) =>
    space('outgrown', [{ name: 'a', type: 'DECIMAL', precision, scale, unique: true }]);
  await exact(18, 2).insert(['-9999999999999999.99', '0.05', '12.30'].map((a) => ({ a })));
  const sorted = { sort: { by: 'a', order: 'asc' } };
  for (const [precision, scale, values] of [
    [38, 2, ['-9999999999999999.99', '0.05', '12.30']],
    [38, 20, [`-9999999999999999.99${'0'.repeat(18)}`, `0.05${'0'.repeat(18)}`, `12.3${'0'.repeat(19)}`]],
    [18, 2, ['-9999999999999999.99', '0.05', '12.30']],
  ] as const) {
    const now = exact(precision, scale);
    for (const reads of ['memory', 'the engine']) {
      const { body } = await now.find('', sorted);
      t.strictSame(
        body.map(({ a }: { a: string }) => a),
        values,
        `${reads}: ${precision}, ${scale}`,
      );
      t.match((await now.find('a=12.3')).body, [{ a: values[2] }]);
      t.match(await now.insertOne({ a: '0.050' }), refusal('not_unique'));
      harness.forget();
    }
  }
  t.match(
    await exact(17, 2).find(),
    refusal(
      'structure_conflict',
      /DECIMAL\(18, 2\) and can not become DECIMAL\(17, 2\): 1 of 3 .*-9999999999999999.99/,
    ),
  );
});

t.test('the old values are taken away, and the slot is not used again', async (t) => {
  await typed('swept', 'TEXT').insert([{ a: '1' }, { a: '2' }]);
  t.match((await typed('swept', 'NUMBER').find()).body, [{ a: 1 }, { a: 2 }]);
  await eventuallyEqual(t, () => slotsOf('swept'), [{ slots: ['n0'] }, { slots: ['n0'] }]);
  const more = space('swept', fieldsOf('a NUMBER, b TEXT'));
  t.match((await more.updateOne('a=1', { b: 'x' })).body, { a: 1, b: 'x' });
  t.match((await more.find()).body, [
    { a: 1, b: 'x' },
    { a: 2, b: null },
  ]);
});

t.test('clients that disagree do not change it for ever', { skip: !full }, async (t) => {
  const [text, number] = [typed('disagree', 'TEXT'), typed('disagree', 'NUMBER')];
  await text.insertOne({ a: '1' });
  let refused = 0;
  for (let i = 0; i < 15; i++) {
    for (const one of [number, text]) {
      const { status, body, problems } = await one.find();
      if (status === 200) t.equal(typeof body[0].a, one === number ? 'number' : 'string');
      else if (++refused === 1) t.match(problems, [/'a'.*20 times within a minute/]);
    }
  }
  t.equal(refused, 5, 'those of one kind go on');
});

t.test('with infer-structure the stored types count', async (t) => {
  await typed('inferred', 'NUMBER').insertOne({ a: 1 });
  const headers = { 'infer-structure': 'true' };
  t.match(
    await harness.call({ path: '/p/inferred', headers, body: [{ a: 'text', b: 1 }] }),
    refusal('invalid_value'),
  );
  t.equal(await typeOf('inferred'), 'NUMBER');
});

t.test('an insert that still hashes when a change begins keeps its value', async (t) => {
  const hashing = (type: string) =>
    space('hashing', [
      { name: 'a', type },
      { name: 'h', type: 'TEXT', hashed: true },
    ]);
  await hashing('TEXT').insertOne({ a: '1' });
  let release = (): void => {};
  const reached = new Promise<void>((resolve) => {
    onHash = () => {
      resolve();
      return new Promise((go) => {
        release = go;
      });
    };
  });
  const insert = hashing('TEXT').insertOne({ a: '2', h: 'secret' });
  await reached;
  const change = hashing('NUMBER').find();
  const id = uuidV5('owner', 'p', 'hashing');
  const { signal } = new AbortController();
  while (((await harness.catalogue.find(id, signal))?.structure.typeChange ?? null) === null)
    await nextTurn();
  // a change that waits for nobody has the space for itself by then
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  onHash = async () => {};
  release();
  // where other processes write as well, a write that has not begun is refused
  const alone = process.env.SLUICE_TEST_SERVED === undefined;
  t.equal((await insert).status, alone ? 200 : 503);
  t.equal((await change).status, 200);
  const values = (await stored('hashing')).map(({ a }: { a: unknown }) => a);
  t.strictSame(values, alone ? [1, 2] : [1]);
});

t.test('a process that starts meanwhile clears none of the values', async (t) => {
  await typed('started', 'TEXT').insert([{ a: '1' }, { a: '2' }]);
  let sweeps = 0;
  onConverted = async () => {
    sweeps++;
    const log = silentLog();
    const catalogue = new TableCatalogue({ db: harness.db, database: testDatabase });
    await sweepLeft({ store: plainStore(harness.db), catalogue, log }, AbortSignal.timeout(60_000));
    t.strictSame(log.failures, []);
  };
  await typed('started', 'NUMBER').find();
  onConverted = async () => {};
  t.ok(sweeps > 0);
  t.match(await stored('started'), [{ a: 1 }, { a: 2 }]);
});
