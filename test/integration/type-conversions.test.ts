/** Each type that a field can change to, with values at the edges: all of them convert exactly, or nothing does. */
import t from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import type { FieldInput } from '../services/record-client.ts';

const harness = await queryHarnessFor(t, {
  freshness: { freshFor: Number.POSITIVE_INFINITY, staleAfter: Number.POSITIVE_INFINITY, outdatedAfter: 0 },
});

/** A field of a type such as `DECIMAL(4, 2)`. */
function fieldOf(text: string, more: object = {}): FieldInput {
  const [, type = '', precision, scale] = /^(\w+)(?:\((\d+), (\d+)\))?$/.exec(text) ?? [];
  const digits = precision === undefined ? {} : { precision: Number(precision), scale: Number(scale) };
  return { name: 'a', type, ...digits, ...more };
}
const space = (slug: string, type: string, more: object = {}) =>
  spaceOf(harness, 'p', slug, [fieldOf(type, more), { name: 'place', type: 'NUMBER' }]);

const longest = '1234567890123456789012345678.0123456789';
const [least, most] = ['-9223372036854775808', '9223372036854775807'];
const safe = Number.MAX_SAFE_INTEGER;

interface Case {
  readonly from: string;
  readonly to: string;
  /** Values in their order, and what becomes of them. */
  readonly good: readonly (readonly [given: unknown, converted: unknown])[];
  readonly bad: readonly unknown[];
}
const same = (...values: unknown[]): Case['good'] => values.map((value) => [value, value]);

const cases: readonly Case[] = [
  {
    from: 'TEXT',
    to: 'DATETIME',
    good: [
      ['0001-01-01T01:00:00+01:00', '0001-01-01T00:00:00.000Z'],
      ['1969-12-31T23:59:59.9Z', '1969-12-31T23:59:59.900Z'],
      ['2026-01-31t12:00:00z', '2026-01-31T12:00:00.000Z'],
      ['2026-01-31T13:00:00.000001+01:00', '2026-01-31T12:00:00.000001Z'],
      ['9999-12-31T23:59:59.9999990Z', '9999-12-31T23:59:59.999999Z'],
    ],
    bad: ['', '2026-01-31', '2026-01-31T12:00:00', '2026-02-30T12:00:00Z', '2026-01-31T12:00:60Z', '0'],
  },
  {
    from: 'TEXT',
    to: 'DATE',
    good: same('0001-01-01', '1900-02-28', '2024-02-29', '9999-12-31'),
    bad: ['', '0000-01-01', '2026-02-29', '2026-1-31', '2026-01-31T00:00:00Z', '12026-01-31'],
  },
  {
    from: 'TEXT',
    to: 'INTEGER',
    good: [
      [`-${safe}`, -safe],
      ['-1', -1],
      ['0', 0],
      ['7', 7],
      [String(safe), safe],
    ],
    bad: ['', '9007199254740992', '-9007199254740992', '-0', '+1', '007', '1.0', '1e3', ' 1', most],
  },
  {
    from: 'TEXT',
    to: 'BIGINT',
    good: same(least, '-1', '0', '9007199254740993', most),
    bad: ['', '9223372036854775808', '-9223372036854775809', '-0', '+1', '007', '1.0', '1'.repeat(40)],
  },
  {
    from: 'TEXT',
    to: 'DECIMAL(4, 2)',
    good: [
      ['-99.99', '-99.99'],
      ['-0', '0.00'],
      ['0.1', '0.10'],
      ['12.300', '12.30'],
      ['99.99', '99.99'],
    ],
    bad: ['', '100', '12.345', '.5', '5.', '1e1', 'NaN', '1,5', '1'.repeat(40)],
  },
  {
    from: 'TEXT',
    to: 'DECIMAL(38, 10)',
    good: [
      [`-${longest}`, `-${longest}`],
      ['0.0000000001', '0.0000000001'],
      ['1', '1.0000000000'],
      [longest, longest],
    ],
    bad: ['1.00000000001', `1${longest}`],
  },
  { from: 'NUMBER', to: 'INTEGER', good: same(-safe, -1, 0, 5, safe), bad: [2 ** 53, -(2 ** 53), 1.5, 1e21] },
  { from: 'INTEGER', to: 'NUMBER', good: same(-safe, -1, 0, safe), bad: [] },
  { from: 'INTEGER', to: 'BIGINT', good: [-safe, -1, 0, safe].map((n) => [n, String(n)]), bad: [] },
  { from: 'INTEGER', to: 'DECIMAL(18, 2)', good: [-safe, 0, safe].map((n) => [n, `${n}.00`]), bad: [] },
  {
    from: 'INTEGER',
    to: 'DECIMAL(4, 2)',
    good: [-99, 0, 99].map((n) => [n, `${n}.00`]),
    bad: [100, -100, safe],
  },
  { from: 'BIGINT', to: 'DECIMAL(19, 0)', good: same(least, '-1', '0', most), bad: [] },
  {
    from: 'BIGINT',
    to: 'DECIMAL(38, 19)',
    good: [least, '0', most].map((n) => [n, `${n}.${'0'.repeat(19)}`]),
    bad: [],
  },
  { from: 'BIGINT', to: 'DECIMAL(18, 0)', good: same('-999999999999999999', '0'), bad: [least, most] },
  {
    from: 'DECIMAL(4, 2)',
    to: 'DECIMAL(38, 10)',
    good: ['-99.99', '0.00', '0.01', '99.99'].map((n) => [n, `${n}00000000`]),
    bad: [],
  },
  {
    from: 'DECIMAL(4, 2)',
    to: 'DECIMAL(5, 3)',
    good: [
      ['-99.99', '-99.990'],
      ['1.50', '1.500'],
    ],
    bad: [],
  },
  {
    from: 'DECIMAL(4, 2)',
    to: 'DECIMAL(3, 1)',
    good: [
      ['-99.90', '-99.9'],
      ['1.50', '1.5'],
    ],
    bad: ['1.25', '-0.01'],
  },
  {
    from: 'DECIMAL(38, 10)',
    to: 'DECIMAL(18, 2)',
    good: [['-1.5000000000', '-1.50']],
    bad: [longest, '0.0010000000'],
  },
  ...['DATETIME', 'DATE', 'INTEGER', 'BIGINT', 'DECIMAL(38, 10)', 'NUMBER'].map((from): Case => {
    const values: Readonly<Record<string, readonly unknown[]>> = {
      DATETIME: ['0001-01-01T00:00:00.000Z', '2026-01-31T12:00:00.123456Z'],
      DATE: ['0001-01-01', '9999-12-31'],
      INTEGER: [-safe, 0],
      BIGINT: [least, most],
      'DECIMAL(38, 10)': [`-${longest}`, longest],
      NUMBER: [-1.5, 1e21],
    };
    return {
      from,
      to: 'TEXT',
      good: (values[from] ?? []).map((v) => [v, v === 1e21 ? '1e+21' : String(v)]),
      bad: [],
    };
  }),
  { from: 'DATETIME', to: 'DATE', good: [], bad: ['2026-01-31T00:00:00.000Z'] },
  { from: 'BIGINT', to: 'INTEGER', good: [], bad: ['1'] },
  { from: 'DECIMAL(4, 2)', to: 'INTEGER', good: [], bad: ['1.00'] },
  { from: 'INTEGER', to: 'DATETIME', good: [], bad: [0] },
];

for (const [number, { from, to, good, bad }] of cases.entries()) {
  t.test(`${from} becomes ${to}`, async (t) => {
    const slug = `change-${number}`;
    const before = space(slug, from);
    const after = space(slug, to);
    // their order does not help
    const records = [...good].reverse().map(([a], at) => ({ a, place: at }));
    const inserted = await before.insert([...records, { a: null }]);
    t.equal(inserted.status, 200, JSON.stringify(inserted.problems));
    for (const value of bad) {
      const { body } = await before.insertOne({ a: value });
      const all = good.length + 1;
      const answer = await after.find();
      const stored = `${all === 1 ? '1 of 1 stored value does' : `1 of ${all} stored values does`} not convert`;
      t.equal(answer.code, 'structure_conflict', String(value));
      t.strictSame(answer.problems, [
        `Field 'a' is stored as ${from} and can not become ${to}: ${stored}: '${value}' in record ${body.id}`,
      ]);
      t.match((await before.find()).body, [...records, { a: null }, { a: value }], 'nothing changed');
      await before.deleteOneById(body.id);
    }
    if (good.length === 0) return;
    const converted = good.map(([, a]) => a);
    const found = await after.find();
    t.strictSame(found.problems, []);
    t.strictSame(
      found.body.map(({ a }: { a: unknown }) => a),
      [...converted].reverse().concat(null),
    );
    t.equal(found.body[0].updatedAt, inserted.body[0].updatedAt);
    const values = async (query: readonly (readonly [string, string])[]) =>
      (await after.find(query)).body.map(({ a }: { a: unknown }) => a);
    t.strictSame(await values([['$sort', 'a']]), [...converted, null], 'sorted');
    for (const value of converted) t.strictSame(await values([['a', String(value)]]), [value], 'found');
    const middle = String(converted[converted.length >> 1]);
    t.strictSame(
      await values([
        ['a[gte]', middle],
        ['$sort', '-a'],
      ]),
      converted.slice(converted.length >> 1).reverse(),
    );
  });
}

t.test('converted values are the same after a restart', async (t) => {
  await harness.restart();
  for (const [number, { to, good }] of cases.entries()) {
    if (good.length === 0) continue;
    const { body } = await space(`change-${number}`, to).find('$sort=a');
    t.strictSame(
      body.map(({ a }: { a: unknown }) => a),
      [...good.map(([, a]) => a), null],
      `${number}: ${to}`,
    );
  }
});

t.test('values of a unique field that become equal refuse the change, and are named', async (t) => {
  const { body } = await space('equal', 'TEXT', { unique: true }).insert([
    { a: '1.5' },
    { a: '2' },
    { a: '1.50' },
  ]);
  t.match(await space('equal', 'DECIMAL(4, 2)', { unique: true }).find(), {
    code: 'structure_conflict',
    problems: [
      `Field 'a' is stored as TEXT and can not become DECIMAL(4, 2): it is unique, and several stored values would become equal: '1.50' (records ${[body[0].id, body[2].id].sort().join(', ')})`,
    ],
  });
  await space('equal', 'TEXT', { unique: true }).deleteOneById(body[2].id);
  const after = space('equal', 'DECIMAL(4, 2)', { unique: true });
  t.match((await after.find()).body, [{ a: '1.50' }, { a: '2.00' }]);
  t.match(await after.insertOne({ a: 1.5 }), { code: 'not_unique' });
});

/** The first moment whose day is this one or a later one, by the clocks that Node knows: a quarter of an hour is exact enough. */
function beginningOf(day: string, timeZone: string): string {
  const clock = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
  let time = Date.parse(day) - 15 * 3_600_000;
  while (clock.format(time) < day) time += 900_000;
  return new Date(time).toISOString();
}

t.test('a day becomes its first moment in the time zone of the field', async (t) => {
  const zones = {
    'Europe/Paris': [
      '1970-01-01',
      '2026-03-28',
      '2026-03-29',
      '2026-03-30',
      '2026-10-25',
      '2026-10-26',
      '2298-07-01',
    ],
    // where clocks skip midnight
    'America/Sao_Paulo': ['2018-11-03', '2018-11-04', '2018-11-05', '2018-02-17', '2018-02-18', '2018-02-19'],
    'Africa/Cairo': ['2026-04-23', '2026-04-24', '2026-04-25', '2026-10-29', '2026-10-30'],
    // where midnight comes twice
    'America/Havana': ['2026-03-07', '2026-03-08', '2026-03-09', '2026-10-31', '2026-11-01', '2026-11-02'],
    // where a day was left out
    'Pacific/Apia': ['2011-12-29', '2011-12-30', '2011-12-31', '2012-01-01'],
    'Australia/Lord_Howe': ['2026-04-05', '2026-04-06', '2026-10-04', '2026-10-05'],
    'Asia/Kathmandu': ['1985-12-31', '1986-01-01', '1986-01-02'],
    'Africa/Casablanca': ['2026-02-14', '2026-02-15', '2026-02-16', '2026-03-22', '2026-03-23'],
    UTC: ['1899-12-31', '1900-01-01', '2026-01-31'],
  };
  for (const [timeZone, days] of Object.entries(zones)) {
    const slug = timeZone.toLowerCase().replaceAll('/', '-');
    await space(slug, 'DATE').insert(days.map((a) => ({ a })));
    const { body, problems } = await space(slug, 'DATETIME', { timeZone }).find();
    t.strictSame(problems, []);
    t.strictSame(
      body.map(({ a }: { a: string }) => a),
      days.map((day) => beginningOf(day, timeZone)),
      timeZone,
    );
  }
});

t.test('days outside the years whose clocks are known begin in UTC', async (t) => {
  await space('early', 'DATE').insert(
    ['0001-01-01', '1899-12-31', '2300-01-03', '9999-12-31'].map((a) => ({ a })),
  );
  const { body } = await space('early', 'DATETIME', { timeZone: 'Asia/Tokyo' }).find();
  t.match(body, [
    { a: '0001-01-01T00:00:00.000Z' },
    { a: '1899-12-31T00:00:00.000Z' },
    { a: '2300-01-03T00:00:00.000Z' },
    { a: '9999-12-31T00:00:00.000Z' },
  ]);
});

t.test('days need a time zone to become times', async (t) => {
  const days = space('days', 'DATE');
  await days.insertOne({ a: '2026-01-31' });
  t.match(await space('days', 'DATETIME').find(), {
    code: 'structure_conflict',
    problems: [
      'Field \'a\' is stored as DATE and can not become DATETIME: give the field a timeZone, such as "Europe/Paris": a day becomes its first moment there',
    ],
  });
  const wrong = { status: 400, code: 'invalid_structure' };
  for (const timeZone of ['Paris', '', 5, '+01:00'])
    t.match(await space('days', 'DATETIME', { timeZone }).find(), {
      ...wrong,
      problems: [/'a' has a timeZone that is not the name of a time zone, such as Europe\/Paris$/],
    });
  t.match(await space('days', 'DATE', { timeZone: 'Europe/Paris' }).find(), {
    ...wrong,
    problems: [/'a' has a timeZone, which is for DATETIME$/],
  });
  t.match((await days.find()).body, [{ a: '2026-01-31' }]);
  const paris = space('days', 'DATETIME', { timeZone: 'Europe/Paris' });
  t.match((await paris.find()).body, [{ a: '2026-01-30T23:00:00.000Z' }]);
  t.match((await space('days', 'DATETIME', { timeZone: 'Asia/Tokyo' }).find()).body, [
    { a: '2026-01-30T23:00:00.000Z' },
  ]);
  t.match((await space('days', 'DATETIME').insertOne({ a: 0 })).body, { a: '1970-01-01T00:00:00.000Z' });
  t.strictSame((await space('empty', 'DATE').find()).body, []);
  t.strictSame((await space('empty', 'DATETIME').find()).problems, [], 'without days');
});
