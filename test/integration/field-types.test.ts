/** Days, instants, whole numbers and decimals: what they take, answer and keep, in memory and in the engine. */
import t from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t);
const fields: readonly FieldInput[] = [
  ...fieldsOf('at DATETIME, day DATE, n INTEGER, big BIGINT, name TEXT'),
  { name: 'price', type: 'DECIMAL', precision: 18, scale: 2 },
  { name: 'exact', type: 'DECIMAL', precision: 38, scale: 10 },
];
const space = spaceOf(harness, 'p', 'typed', fields);

const records = [
  {
    name: 'first',
    at: '0001-01-01T00:00:00Z',
    day: '0001-01-01',
    n: -9007199254740991,
    big: '-9223372036854775808',
    price: '-9999999999999999.99',
    exact: '-9999999999999999999999999999.9999999999',
  },
  {
    name: 'middle',
    at: '2026-01-31T13:00:05.1234+01:00',
    day: '2026-01-31',
    n: 0,
    big: 12,
    price: 12.3,
    exact: '0.0000000001',
  },
  { name: 'none' },
  {
    name: 'last',
    at: '9999-12-31T23:59:59.999999Z',
    day: '9999-12-31',
    n: 9007199254740991,
    big: '9223372036854775807',
    price: '9999999999999999.99',
    exact: '9999999999999999999999999999.9999999999',
  },
];
const nothing = { at: null, day: null, n: null, big: null, price: null, exact: null };
const answers = [
  { ...records[0], at: '0001-01-01T00:00:00.000Z' },
  { ...records[1], at: '2026-01-31T12:00:05.123400Z', big: '12', price: '12.30' },
  { ...records[2], ...nothing },
  { ...records[3] },
];

t.test('they are answered as they are stored, one JSON type each', async (t) => {
  const inserted = await space.insert(records);
  t.equal(inserted.status, 200, JSON.stringify(inserted.problems));
  t.match(inserted.body, answers);
  t.match((await space.find()).body, answers);
  t.match((await space.find('name=middle')).body, [answers[1]]);
});

for (const [field, values] of Object.entries({
  at: ['0001-01-01T00:00:00Z', '2026-01-31T12:00:05.1234Z', '9999-12-31T23:59:59.999999Z'],
  day: ['0001-01-01', '2026-01-31', '9999-12-31'],
  n: ['-9007199254740991', '0', '9007199254740991'],
  big: ['-9223372036854775808', '12', '9223372036854775807'],
  price: ['-9999999999999999.99', '12.3', '9999999999999999.99'],
  exact: [
    '-9999999999999999999999999999.9999999999',
    '0.0000000001',
    '9999999999999999999999999999.9999999999',
  ],
})) {
  t.test(`${field} is compared, sorted and grouped`, async (t) => {
    const names = async (query: string): Promise<string[]> => {
      const { body, problems } = await space.find(query);
      t.strictSame(problems, []);
      return body.map(({ name }: { name: string }) => name);
    };
    const [low, middle, high] = values as [string, string, string];
    const text = encodeURIComponent;
    t.strictSame(await names(`${field}=${text(middle)}`), ['middle']);
    t.strictSame(await names(`${field}[gt]=${text(low)}`), ['middle', 'last']);
    t.strictSame(await names(`${field}[lte]=${text(middle)}`), ['first', 'middle']);
    t.strictSame(await names(`${field}[in]=${text(high)}&${field}[in]=${text(low)}`), ['first', 'last']);
    t.strictSame(await names(`${field}[exists]=false`), ['none']);
    t.strictSame(await names(`$sort=-${field}`), ['last', 'middle', 'first', 'none']);
    const { body: page } = await space.find(`$sort=${field}&$limit=2`);
    const last = page.at(-1);
    const after = JSON.stringify({ id: last.id, value: last[field] });
    t.strictSame(await names(`$sort=${field}&$limit=10&$after=${text(after)}`), ['last', 'none']);
    const aggregate = await harness.call({
      path: '/p/typed/_aggregate_',
      structure: space.structure,
      body: {
        groupBy: [field],
        values: { records: 'count', most: { max: field }, different: { distinct: field } },
      },
    });
    t.strictSame(aggregate.problems, []);
    const known = [0, 1, 3].map((at) => {
      const value = (answers[at] as Record<string, unknown>)[field];
      return { [field]: value, records: 1, most: value, different: 1 };
    });
    t.strictSame(aggregate.body, [...known, { [field]: null, records: 1, most: null, different: 0 }]);
  });
}

t.test('sums and averages have all digits', async (t) => {
  const aggregate = async (values: object, more: object = {}) => {
    const answer = await harness.call({
      path: '/p/typed/_aggregate_',
      structure: space.structure,
      body: { values, ...more },
    });
    t.strictSame(answer.problems, []);
    return answer.body;
  };
  t.strictSame(
    await aggregate({
      big: { sum: 'big' },
      price: { sum: 'price' },
      exact: { sum: 'exact' },
      average: { avg: 'price' },
      mean: { avg: 'big' },
      median: { quantile: ['big', 0.5] },
      n: { avg: 'n' },
    }),
    [
      {
        big: '11',
        price: '12.30',
        exact: '0.0000000001',
        average: '4.10000000',
        mean: '3.666667',
        median: '12',
        n: 0,
      },
    ],
  );
  const above = { where: { big: { gte: 0 } }, having: { big: { gt: '9223372036854775807' } } };
  t.strictSame(await aggregate({ big: { max: 'big' } }, above), []);
  t.strictSame(await aggregate({ price: { sum: 'price' } }, { having: { price: '12.30' } }), [
    { price: '12.30' },
  ]);
  t.strictSame(await aggregate({ price: { avg: 'price' } }, { where: { name: 'none' } }), [{ price: null }]);
});

t.test('changes of records', async (t) => {
  const { body } = await space.find('name=middle');
  const { id } = body[0];
  const changed = { at: 0, day: '1969-12-31', n: -1, big: '-1', price: '-0.01', exact: '-1.5' };
  const answer = await space.updateOneById(id, changed);
  t.equal(answer.status, 200, JSON.stringify(answer.problems));
  const now = { ...changed, at: '1970-01-01T00:00:00.000Z', exact: '-1.5000000000' };
  t.match((await space.findOne('name=middle')).body, now);
  const query = 'at=1970-01-01T00:00:00.000Z&day=1969-12-31&n=-1&big=-1&price=-0.010&exact=-1.50';
  t.match((await space.find(query)).body, [now]);
  t.match((await space.find('at[lt]=1970-01-01T00:00:00.001Z&name[ne]=first')).body, [now]);
});

const whole = 'should be a valid whole number';
for (const [field, value, problem] of [
  ['at', '2026-02-30T12:00:00Z', 'should be a valid time: it is not a time that exists'],
  [
    'at',
    '2026-01-31T12:00:00',
    'should be a valid time: it has no time zone: write 2026-01-31T12:00:00Z, or +01:00 in place of Z',
  ],
  ['at', '2026-01-31', 'should be a valid time: it is only a day: write 2026-01-31T12:00:00Z'],
  ['at', '2026-06-30T23:59:60Z', 'should be a valid time: it is not a time that exists: it is a leap second'],
  ['at', '2026-01-31T12:00:00+25:00', 'should be a valid time: it is not a time that exists'],
  ['at', '12026-01-31T12:00:00Z', 'should be a valid time: it should be written as 2026-01-31T12:00:00Z'],
  ['at', '2026-01-31T12:00:00.0000001Z', 'should be a valid time: it has digits beyond the microsecond'],
  ['at', '0001-01-01T00:00:00+01:00', 'should be a valid time: it is not in the years 0001 to 9999'],
  [
    'at',
    1.5,
    'should be a valid time: a number should be whole milliseconds since 1970, in the years 0001 to 9999',
  ],
  ['day', '2026-02-30', 'should be a valid day: write it as 2026-01-31'],
  ['day', '12026-01-31', 'should be a valid day: write it as 2026-01-31'],
  ['day', 20260131, 'should be a valid day'],
  ['at', true, 'should be a valid time'],
  ['at', '2026-01-31T12:00:00 01:00', 'should be a valid time: it should be written as 2026-01-31T12:00:00Z'],
  ['day', '2026-02-29', 'should be a valid day: write it as 2026-01-31'],
  ['day', '0000-01-01', 'should be a valid day: write it as 2026-01-31'],
  ['day', '2026-01-31T00:00:00Z', 'should be a valid day: write it as 2026-01-31'],
  ['n', 1.5, whole],
  ['n', { $inc: 1 }, whole],
  ['price', { $inc: 1 }, 'should be a valid decimal number'],
  ['n', '1', whole],
  ['n', 2 ** 53, `${whole}: from -9007199254740991 to 9007199254740991; a BIGINT takes more`],
  ['big', '9223372036854775808', 'should be a valid whole number of 64 bits'],
  ['big', '1e3', 'should be a valid whole number of 64 bits: write its digits'],
  ['big', '1.0', 'should be a valid whole number of 64 bits: write its digits'],
  ['price', '0.001', 'should be a valid decimal number: it has more than 2 digits behind the point'],
  [
    'price',
    '10000000000000000',
    'should be a valid decimal number: it has more than 16 digits before the point',
  ],
  ['price', 'NaN', 'should be a valid decimal number: write it as 12.30'],
  ['price', '1'.repeat(40), 'should be a valid decimal number: it has more than 16 digits before the point'],
  [
    'price',
    0.1 + 0.2,
    'should be a valid decimal number: a JSON number may have been rounded: write its digits as a string',
  ],
] as const) {
  t.test(`${field} does not take ${value}`, async (t) => {
    const { status, problems } = await space.insertOne({ [field]: value });
    t.equal(status, 400);
    t.strictSame(problems, [`Value for Body field: '${field}' ${problem}`]);
  });
}

t.test('JSON has one number in several writings, and a query the digits alone', async (t) => {
  const insert = async (body: string) => {
    const answer = await space.insertOne(body);
    return answer.body ?? [answer.status, answer.code, ...answer.problems];
  };
  t.match(await insert('{"name":"a","n":1e3,"big":1e3,"price":1e1,"exact":1.0}'), {
    ...{ n: 1000, big: '1000', price: '10.00', exact: '1.0000000000' },
  });
  t.match(await insert('{"name":"b","n":1.0,"big":1.0,"price":-0,"exact":-0.0}'), {
    ...{ n: 1, big: '1', price: '0.00', exact: '0.0000000000' },
  });
  t.match(await insert('{"name":"c","n":-0,"big":-0,"at":-0}'), {
    n: 0,
    big: '0',
    at: '1970-01-01T00:00:00.000Z',
  });
  const rounded = '1234567890123456789012345678901234567890';
  for (const field of ['n', 'big', 'price', 'exact', 'at'])
    t.match(await insert(`{"${field}":${rounded}}`), [
      400,
      'invalid_body',
      /has more digits than a NUMBER can hold/,
    ]);
  t.match(await insert('{"n":NaN}'), [400, 'invalid_body']);
  for (const [query, problem] of [
    ['n=1e3', "'n' should be a valid whole number"],
    ['n=1.0', "'n' should be a valid whole number"],
    ['n=NaN', "'n' should be a valid whole number"],
    [
      `n=${rounded}`,
      "'n' should be a valid whole number: from -9007199254740991 to 9007199254740991; a BIGINT takes more",
    ],
    ['big=1e3', "'big' should be a valid whole number of 64 bits: write its digits"],
    [`big=${rounded}`, "'big' should be a valid whole number of 64 bits"],
    ['price=1e1', "'price' should be a valid decimal number: write it as 12.30"],
    ['price=0.001', "'price' should be a valid decimal number: it has more than 2 digits behind the point"],
    [
      `exact=${rounded}`,
      "'exact' should be a valid decimal number: it has more than 28 digits before the point",
    ],
    ['at=2026-02-30T00:00:00Z', "'at' should be a valid time: it is not a time that exists"],
    [
      'at=2026-06-30T23:59:60Z',
      "'at' should be a valid time: it is not a time that exists: it is a leap second",
    ],
    ['at=2026-01-31T12:00:00%2B25:00', "'at' should be a valid time: it is not a time that exists"],
    ['at=12026-01-31T12:00:00Z', "'at' should be a valid time: it should be written as 2026-01-31T12:00:00Z"],
    ['day=2026-02-30', "'day' should be a valid day: write it as 2026-01-31"],
  ] as const)
    t.match(await space.find(query), {
      ...{ status: 400, code: 'invalid_condition' },
      problems: [`Value for Query field: ${problem}`],
    });
  t.match((await space.find('n=-0&name=c')).body, [{ n: 0 }]);
  t.match(
    (await space.find('at=1970-01-01T01:00:00+01:00&name=c')).body,
    [{ name: 'c' }],
    'a plus that arrives as a space',
  );
});

t.test('a structure says what digits its decimals have', async (t) => {
  const cents: readonly FieldInput[] = [{ name: 'a', type: 'DECIMAL', precision: 4, scale: 2 }];
  const made = async (field: object) =>
    (await spaceOf(harness, 'p', 'digits', [{ name: 'a', type: 'DECIMAL', ...field }]).make()).problems;
  t.match(await made({}), [/should have a precision/]);
  t.match(await made({ precision: 39, scale: 0 }), [/from 1 to 38/]);
  t.match(await made({ precision: 4, scale: 5 }), [/should have a scale/]);
  t.match(await made({ precision: 4, scale: 2, defaultValue: '1.234' }), [/more than 2 digits behind/]);
  t.match(await made({ type: 'NUMBER', scale: 2 }), [/has a scale, which is for DECIMAL/]);
  t.strictSame(await made({ precision: 4, scale: 2, defaultValue: '1' }), []);
  t.strictSame((await spaceOf(harness, 'p', 'digits', cents).insertOne({ a: '1.25' })).problems, []);
  t.match(await made({ precision: 4, scale: 1 }), [
    /^Field 'a' is stored as DECIMAL\(4, 2\) and can not become DECIMAL\(4, 1\): 1 of 1 stored value does not convert: '1\.25' in record /,
  ]);
  t.match(await made({ precision: 2, scale: 2, defaultValue: '1' }), [
    /^Field 'a' has a defaultValue that should be a valid decimal number: it has more than 0 digits before the point$/,
  ]);
  t.match(await made({ type: 'DATE', defaultValue: '2026-02-30' }), [
    /has a defaultValue that should be a valid day/,
  ]);
  t.match(await made({ type: 'INTEGER', defaultValue: 1.5 }), [
    /has a defaultValue that should be a valid whole/,
  ]);
});

t.test('of two structures that disagree on digits one is refused', async (t) => {
  const fields = (scale: number): FieldInput[] => [{ name: 'a', type: 'DECIMAL', precision: 4, scale }];
  const stored = spaceOf(harness, 'p', 'disagreed', fields(2));
  await stored.insertOne({ a: '1.25' });
  const other = spaceOf(harness, 'p', 'disagreed', fields(3));
  t.match(await other.find('', undefined, { mutate: 'false' }), {
    ...{ status: 400, code: 'structure_conflict' },
    problems: ["Field 'a' is stored as DECIMAL(4, 2) and can not become DECIMAL(4, 3)"],
  });
  const grants = { 'test-grants': JSON.stringify({ may: ['find'] }) };
  t.match((await stored.find('', undefined, grants)).body, [{ a: '1.25' }]);
  t.match(await other.find('', undefined, grants), {
    ...{ status: 403, code: 'not_granted' },
    problems: [/may only name stored fields as they are, and 'a' is not one$/],
  });
});
