/** Changes that add to whole numbers and decimals: exact, all of them, and nothing beyond the field's range. */
import t, { type Test } from 'tap';
import { type QueryHarness, queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf } from '../services/record-client.ts';

const counted: readonly FieldInput[] = [
  ...fieldsOf('name TEXT unique, n INTEGER, big BIGINT'),
  { name: 'price', type: 'DECIMAL', precision: 4, scale: 2 },
  { name: 'exact', type: 'DECIMAL', precision: 38, scale: 10 },
];
/** The same types without a column: their values are in the map alone. */
const mapped: readonly FieldInput[] = [
  ...Array.from({ length: 16 }, (_, at) => ({ name: `n${at}`, type: 'NUMBER' })),
  ...Array.from({ length: 8 }, (_, at) => ({ name: `i${at}`, type: 'BIGINT' })),
  ...counted,
];
const most = Number.MAX_SAFE_INTEGER;

// a server, or several, is never that of an only process
const writers = process.env.SLUICE_TEST_SERVED === undefined ? [true, false] : [false];

for (const [title, fields] of Object.entries({ columns: counted, 'the map of values': mapped })) {
  for (const singleWriter of writers) {
    const store = singleWriter ? 'the only process' : 'one of several processes';
    t.test(`in ${title}, ${store}`, async (t) => {
      const harness = await queryHarnessFor(t, { singleWriter });
      await sums(t, harness, fields);
    });
  }
}

async function sums(t: Test, harness: QueryHarness, fields: readonly FieldInput[]): Promise<void> {
  const space = spaceOf(harness, 'p', 'counted', fields);
  const made = async (record: object): Promise<string> => (await space.insertOne(record)).body.id;
  const add = (id: string, by: object) =>
    space.updateOneById(id, Object.fromEntries(Object.entries(by).map(([name, $inc]) => [name, { $inc }])));

  t.test('a missing value is 0, and digits and JSON numbers are taken', async (t) => {
    const id = await made({ name: 'first' });
    t.match(await add(id, { n: -2, big: '-9223372036854775808', price: 0.1, exact: '-0.0000000001' }), {
      status: 200,
      body: { n: -2, big: '-9223372036854775808', price: '0.10', exact: '-0.0000000001' },
    });
    t.match((await add(id, { n: 2, big: 7, price: '-0.1', exact: '0.0000000001' })).body, {
      ...{ n: 0, big: '-9223372036854775801', price: '0.00', exact: '0.0000000000' },
    });
    t.match((await add(id, { price: '-5', exact: '9999999999999999999999999999.9999999999' })).body, {
      ...{ price: '-5.00', exact: '9999999999999999999999999999.9999999999' },
    });
    const query = 'n=0&big=-9223372036854775801&price=-5&exact=9999999999999999999999999999.9999999999';
    t.match((await space.find(query)).body, [{ id }], 'the sums are found');
    t.match((await space.find('price[lt]=-4.99&big[lt]=-9223372036854775800')).body, [{ id }]);
  });

  t.test('a sum that the type has no value for changes nothing', async (t) => {
    const edges = {
      ...{ n: most - 1, big: '9223372036854775806', price: '99.98' },
      exact: '9999999999999999999999999999.9999999998',
    };
    const id = await made({ name: 'edges', ...edges });
    for (const [field, by, type, once] of [
      ['n', 2, 'INTEGER', 1],
      ['big', '2', 'BIGINT', '1'],
      ['price', '0.02', 'DECIMAL(4, 2)', '0.01'],
      ['exact', '0.0000000002', 'DECIMAL(38, 10)', '0.0000000001'],
    ] as const) {
      t.match(await add(id, { [field]: by }), {
        status: 400,
        code: 'invalid_value',
        problems: [
          `Body field: '${field}' can not be incremented: the sum would be outside the range of ${type}`,
        ],
      });
      const others = await space.updateOneById(id, { name: 'changed', [field]: { $inc: by } });
      t.equal(others.status, 400, 'with another change');
      t.match((await space.find([['id', id]])).body, [{ name: 'edges', [field]: edges[field] }]);
      t.equal((await add(id, { [field]: once })).status, 200);
    }
    t.match((await space.find([['id', id]])).body, [
      {
        ...{ n: most, big: '9223372036854775807', price: '99.99' },
        exact: '9999999999999999999999999999.9999999999',
      },
    ]);
    const negative = await made({ name: 'negative', n: -most, price: '-99.99' });
    t.match(await add(negative, { n: -1, price: '-0.01' }), { status: 400, code: 'invalid_value' });
    t.match((await add(negative, { n: 1, price: '0.01' })).body, { n: 1 - most, price: '-99.98' });
  });

  t.test('of many at once those are made that have room, and the others are refused', async (t) => {
    const ids = [await made({ name: 'a', price: '99.90' }), await made({ name: 'b', price: '0.00' })];
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, at) => add(ids[at % 2] as string, { price: '0.01' })),
    );
    const statuses = answers.map(({ status }) => status);
    t.equal(statuses.filter((status) => status === 200).length, 9 + 20);
    t.equal(statuses.filter((status) => status === 400).length, 11);
    const sums = answers.filter(({ status }) => status === 200).map(({ body }) => body);
    const own = (name: string) => sums.filter((one) => one.name === name).map(({ price }) => price);
    t.strictSame(own('a').at(-1), '99.99');
    t.match((await space.find('name=a')).body, [{ price: '99.99' }]);
    t.match((await space.find('name=b')).body, [{ price: '0.20' }]);
  });

  t.test('of many records all or none are changed', async (t) => {
    await space.clear();
    await space.insert([{ name: 'a', price: '1.00', n: 1 }, { name: 'b', price: '99.00' }, { name: 'c' }]);
    const update = (inc: object) =>
      harness.call({
        path: `${space.path}/_update_`,
        structure: space.structure,
        body: { inc, all: true, where: {} },
      });
    t.match(await update({ price: '1.00', n: 1 }), { status: 400, code: 'invalid_value' });
    t.match((await space.find()).body, [
      { price: '1.00', n: 1 },
      { price: '99.00', n: null },
      { price: null },
    ]);
    t.match(await update({ price: '0.99', big: '5' }), { status: 200, body: { updated: 3 } });
    t.match((await space.find()).body, [
      { price: '1.99', big: '5' },
      { price: '99.99', big: '5' },
      { price: '0.99', big: '5' },
    ]);
  });

  t.test('what is added is a value of the type', async (t) => {
    const [{ id }] = (await space.find()).body;
    const whole = 'should be a valid whole number';
    for (const [field, by, problem] of [
      ['n', 0.5, whole],
      ['n', '1', whole],
      ['n', 2 ** 53, `${whole}: from -9007199254740991 to 9007199254740991; a BIGINT takes more`],
      ['big', '1.0', `${whole} of 64 bits: write its digits`],
      [
        'big',
        2 ** 53,
        `${whole} of 64 bits: a JSON number may have been rounded: write its digits as a string`,
      ],
      ['price', '0.001', 'should be a valid decimal number: it has more than 2 digits behind the point'],
      ['price', null, 'should be a valid decimal number'],
      ['name', 1, 'should be a valid string'],
    ] as const) {
      t.match(await add(id, { [field]: by }), {
        status: 400,
        problems: [`Value for Body field: '${field}' ${problem}`],
      });
    }
    const unique = spaceOf(harness, 'p', 'unique', fieldsOf('n INTEGER unique, big BIGINT hashed'));
    const { body } = await unique.insertOne({ n: 1 });
    t.match((await unique.updateOneById(body.id, { n: { $inc: 1 } })).problems, [/the field is unique$/]);
    t.match((await unique.updateOneById(body.id, { big: { $inc: '1' } })).problems, [/the field is hashed$/]);
  });

  t.test('keys of a space begin with what is added', async (t) => {
    const visits = spaceOf(harness, 'p', 'visits', fields);
    t.match((await visits.setKeys({ price: { $inc: '0.1' }, big: { $inc: 3 } })).status, 200);
    await visits.setKeys({ price: { $inc: '0.1' }, big: { $inc: '-4' } });
    t.match((await visits.getKeys()).body, { price: '0.20', big: '-1' });
  });
}
