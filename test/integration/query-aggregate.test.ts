/** POST and QUERY /{project}/{space}/_aggregate_: what groups are, and what is refused. */
import fc from 'fast-check';
import t from 'tap';
import { responseBytes } from '../services/fake-request.ts';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { sized } from '../services/test-size.ts';

let now = Date.parse('2026-11-01T12:00:00Z');
const harness = await queryHarnessFor(t, { now: () => now });
const structure = structureOf('p', 'sales', [
  { name: 'City name', slug: 'city', type: 'TEXT' },
  { name: 'amount', type: 'NUMBER' },
  { name: 'paid', type: 'BOOLEAN' },
  { name: 'tags', type: 'ARRAY' },
  { name: 'home', type: 'OBJECT' },
  { name: 'secret', type: 'TEXT', hashed: true },
]);
const sales = spaceOf(harness, 'p', 'sales', structure);

async function aggregate(body: unknown, more: object = {}): Promise<unknown> {
  const answer = await harness.call({ path: '/p/sales/_aggregate_', structure, body, ...more });
  return answer.status === 200 ? answer.body : { status: answer.status, problems: answer.problems };
}

t.test('over nothing', async (t) => {
  const all = {
    n: 'count',
    sum: { sum: 'amount' },
    avg: { avg: 'amount' },
    min: { min: 'city' },
    max: { max: 'createdAt' },
    distinct: { distinct: 'city' },
    median: { quantile: ['amount', 0.5] },
  };
  const none = { n: 0, sum: null, avg: null, min: null, max: null, distinct: null, median: null };
  t.strictSame(await aggregate({ values: all }), [none], 'of a space that does not exist');
  t.strictSame(await aggregate({ values: { n: 'count' }, having: { n: { gt: 0 } } }), []);
  t.strictSame(await aggregate({ groupBy: ['city'], values: all }), []);
  await sales.make();
  t.strictSame(await aggregate({ values: all }), [none]);
  t.strictSame(await aggregate({ groupBy: ['city'], values: all }), []);
  t.strictSame(
    await aggregate({ where: { city: 'x', secret: 'wrong' }, values: { n: 'count' } }),
    [{ n: 0 }],
    'credentials that are wrong',
  );
});

t.test('groups', async (t) => {
  const { body } = await sales.insert([
    { city: 'Paris', amount: 10, paid: true, tags: ['a'], home: { zip: '1' }, secret: 's' },
    { city: 'Paris', amount: 30, paid: false, tags: ['a'] },
    { city: 'Rome', amount: 5, home: { zip: '1' } },
    { amount: 1 },
  ]);
  const values = { n: 'count', total: { sum: 'amount' } };
  t.strictSame(await aggregate({ groupBy: ['city'], values }), [
    { city: 'Paris', n: 2, total: 40 },
    { city: 'Rome', n: 1, total: 5 },
    { city: null, n: 1, total: 1 },
  ]);
  t.strictSame(
    await aggregate(
      { groupBy: ['City name'], values, sort: [{ by: 'total' }], limit: 1 },
      { method: 'QUERY' },
    ),
    [{ 'City name': null, n: 1, total: 1 }],
  );
  t.strictSame(await aggregate({ groupBy: ['tags', 'home.zip'] }), [
    { tags: ['a'], 'home.zip': '1' },
    { tags: ['a'], 'home.zip': null },
    { tags: null, 'home.zip': '1' },
    { tags: null, 'home.zip': null },
  ]);
  t.strictSame(
    await aggregate({
      where: { amount: { gte: 5 } },
      groupBy: ['city'],
      values,
      having: { $or: [{ n: 1 }, { total: { gt: 100 } }] },
    }),
    [{ city: 'Rome', n: 1, total: 5 }],
  );
  t.strictSame(await aggregate({ where: { city: 'Paris', secret: 's' }, values }), [{ n: 1, total: 10 }]);
  // what was changed and deleted is in one group, and in none
  const ids = (body as { id: string }[]).map(({ id }) => id);
  await sales.updateOneById(ids[0] as string, { city: 'Rome' });
  await sales.deleteOneById(ids[3] as string);
  t.strictSame(await aggregate({ groupBy: ['city'], values }), [
    { city: 'Paris', n: 1, total: 30 },
    { city: 'Rome', n: 2, total: 15 },
  ]);
});

t.test('conditions in the address count as those in where', async (t) => {
  const body = { values: { n: 'count' } };
  const either = { options: JSON.stringify({ paramRelationship: 'Or' }) };
  t.strictSame(await aggregate(body, { query: 'city=Paris' }), [{ n: 1 }]);
  t.strictSame(await aggregate(body, { query: 'city=Rome' }), [{ n: 2 }], 'and have an answer of their own');
  const both = { ...body, where: { amount: { gt: 10 } } };
  t.strictSame(await aggregate(both, { query: 'city=Paris' }), [{ n: 1 }]);
  t.strictSame(await aggregate(both, { query: 'city=Rome', headers: either }), [{ n: 3 }]);
  const problems = await aggregate({}, { query: 'town=Rome&$limit=5' });
  t.match(problems, { status: 400, problems: [/'town'/, /'\$limit'/] });
  const paged = { headers: { options: JSON.stringify({ pagination: { limit: 1, page: 1 } }) } };
  t.match(await aggregate(body, paged), { status: 400, problems: [/pagination and sort do not apply/] });
});

t.test('a sum beyond all numbers is no value, in conditions and orders as well', async (t) => {
  const path = '/p/overflow/_aggregate_';
  const wide = structureOf('p', 'overflow', fieldsOf('kind TEXT, amount NUMBER'));
  const amounts = { huge: [1e308, 1e308], small: [-1e308, -1e308], some: [1, 2], none: [null] };
  const records = Object.entries(amounts).flatMap(([kind, all]) => all.map((amount) => ({ kind, amount })));
  await spaceOf(harness, 'p', 'overflow', wide).insert(records);
  const values = { total: { sum: 'amount' }, mean: { avg: 'amount' } };
  const asked = (more: object) =>
    aggregate({ groupBy: ['kind'], values, ...more }, { path, structure: wide }) as Promise<
      { kind: string }[]
    >;
  const some = { kind: 'some', total: 3, mean: 1.5 };
  for (const name of ['total', 'mean']) {
    t.strictSame(await asked({ having: { [name]: { exists: true } } }), [some]);
    const missing = await asked({ having: { [name]: { exists: false } } });
    t.strictSame(
      missing.map((one) => ({ ...one, kind: null })),
      Array(3).fill({ kind: null, total: null, mean: null }),
    );
    for (const order of ['asc', 'desc'])
      t.strictSame((await asked({ sort: [{ by: name, order }] }))[0], some, 'without a value they come last');
  }
});

t.test('an answer that has not all groups says so, also when it was kept', async (t) => {
  const more = async (limit: number | undefined, groupBy: unknown[] = ['city']): Promise<unknown[]> => {
    const body = { groupBy, values: { n: 'count' }, ...(limit !== undefined && { limit }) };
    const answer = await harness.respond({ path: '/p/sales/_aggregate_', structure, body });
    const groups = JSON.parse(String(await responseBytes(answer))) as unknown[];
    return [groups.length, answer.headers?.['sluice-more-groups']];
  };
  const [groups] = await more(undefined);
  for (const time of ['read', 'kept']) {
    t.strictSame(await more(undefined), [groups, undefined], time);
    t.strictSame(await more(Number(groups)), [groups, undefined], time);
    t.strictSame(await more(Number(groups) - 1), [Number(groups) - 1, 'true'], time);
    t.strictSame(
      await more(1, ['city', { bucket: 'createdAt', every: '1d', fill: true }]),
      [1, 'true'],
      time,
    );
  }
});

t.test('an answer that was kept is dropped by a write', async (t) => {
  const body = { where: { city: 'Kyiv' }, values: { n: 'count' } };
  for (const n of [0, 1, 2]) {
    t.strictSame(await aggregate(body), [{ n }]);
    t.strictSame(await aggregate(body), [{ n }]);
    await sales.insertOne({ city: 'Kyiv' });
  }
});

t.test('days and hours around changes of clocks', async (t) => {
  const times = [
    ...'2026-03-28T23:30:00+01:00 2026-03-29T01:59:00+01:00 2026-03-29T03:00:00+02:00'.split(' '),
    ...'2026-10-25T02:30:00+02:00 2026-10-25T02:30:00+01:00'.split(' '),
  ];
  for (const time of times) {
    now = Date.parse(time);
    await sales.insertOne({ city: 'clock' });
  }
  const by = (every: string, more: object = {}) =>
    aggregate({
      where: { city: 'clock', ...more },
      groupBy: [{ as: 't', bucket: 'createdAt', every, timeZone: 'Europe/Paris' }],
      values: { n: 'count' },
    });
  t.strictSame(await by('1d'), [
    { t: '2026-03-28T00:00:00+01:00', n: 1 },
    { t: '2026-03-29T00:00:00+01:00', n: 2 },
    { t: '2026-10-25T00:00:00+02:00', n: 2 },
  ]);
  t.strictSame(await by('1h'), [
    { t: '2026-03-28T23:00:00+01:00', n: 1 },
    { t: '2026-03-29T01:00:00+01:00', n: 1 },
    { t: '2026-03-29T03:00:00+02:00', n: 1 },
    { t: '2026-10-25T02:00:00+02:00', n: 1 },
    { t: '2026-10-25T02:00:00+01:00', n: 1 },
  ]);
  t.strictSame(await by('1w', { createdAt: { gte: '2026-10-01' } }), [
    { t: '2026-10-19T00:00:00+02:00', n: 2 },
  ]);
  t.strictSame(await by('1mo'), [
    { t: '2026-03-01T00:00:00+01:00', n: 3 },
    { t: '2026-10-01T00:00:00+02:00', n: 2 },
  ]);
  t.strictSame(await by('1y'), [{ t: '2026-01-01T00:00:00+01:00', n: 5 }]);
  const filled = (await aggregate({
    where: { city: 'clock', createdAt: { lt: '2026-04-01' } },
    groupBy: [{ bucket: 'createdAt', every: '1h', timeZone: 'Europe/Paris', fill: true }],
    values: { n: 'count', total: { sum: 'amount' } },
  })) as { createdAt: string }[];
  t.strictSame(
    filled.map(({ createdAt }) => createdAt.slice(11)),
    ['23:00:00+01:00', '00:00:00+01:00', '01:00:00+01:00', '03:00:00+02:00'],
  );
  t.strictSame(filled[1], { createdAt: '2026-03-29T00:00:00+01:00', n: 0, total: null });
  now = Date.parse('2024-04-26T12:00:00Z');
  await sales.insertOne({ city: 'Cairo' });
  t.strictSame(
    await aggregate({
      where: { city: 'Cairo' },
      groupBy: [{ as: 'day', bucket: 'createdAt', every: '1d', timeZone: 'Africa/Cairo' }],
    }),
    [{ day: '2024-04-26T01:00:00+03:00' }],
    'a day without a midnight',
  );
});

t.test('every time zone that is taken is known to the engine', async (t) => {
  now = Date.parse('2026-07-01T12:00:00Z');
  await sales.insertOne({ city: 'zones' });
  const unknown: unknown[] = [];
  const listed = Intl.supportedValuesOf('timeZone').filter((_, index) => index % sized(1, 8) === 0);
  const zones = ['UTC', 'GMT', 'Etc/GMT+5', 'europe/paris', ...listed];
  for (let at = 0; at < zones.length; at += 10) {
    const some = zones.slice(at, at + 10);
    const groupBy = some.map((timeZone) => ({ as: timeZone, bucket: 'createdAt', every: '1d', timeZone }));
    const [row] = (await aggregate({ where: { city: 'zones' }, groupBy })) as Record<string, string>[];
    for (const zone of some) {
      const name = row?.[zone] ?? '';
      const ago = now - Date.parse(name);
      if (!(ago >= 0 && ago < 86_400_000 && name.slice(11, 19) === '00:00:00')) unknown.push([zone, name]);
    }
  }
  t.strictSame(unknown, []);
});

t.test('more buckets than an answer may have', async (t) => {
  for (const time of ['2020-01-01', '2026-01-01']) {
    now = Date.parse(time);
    await sales.insertOne({ city: 'long' });
  }
  const fill = (every: string) =>
    aggregate({
      where: { city: 'long' },
      groupBy: [{ bucket: 'createdAt', every, fill: true }],
      values: { n: 'count' },
      limit: 10_000,
    });
  t.match(await fill('1h'), { status: 400, problems: [/fill would make 52,609 rows; at most 10,000/] });
  t.equal(((await fill('1d')) as unknown[]).length, 2193);
});

t.test('every problem of a request is listed', async (t) => {
  const answer = await harness.call({
    path: '/p/sales/_aggregate_',
    structure,
    body: {
      where: { colour: 1, amount: { gt3: 1 }, city: {}, $or: [] },
      groupBy: [
        'secret',
        'nowhere',
        7,
        { bucket: 'amount', every: '0s', timeZone: 'Mars/Base', fill: 1, size: 1 },
      ],
      values: {
        n: 'count',
        total: { sum: 'city' },
        people: { distinct: 'secret' },
        p: { quantile: ['amount', 2] },
        what: { median: 'amount' },
        two: { sum: 'amount', avg: 'amount' },
      },
      having: { nothing: 1, $not: [{ neither: 1 }], n: { gt3: 1 }, $and: [{}] },
      sort: [{ by: 'nobody', order: 'up' }, { by: 'nobody' }],
      limit: 0,
      offset: 1,
    },
  });
  t.equal(answer.status, 400);
  t.equal(answer.code, 'invalid_condition');
  for (const part of [
    ...["no part 'offset'", "'colour' is not in the structure", "'amount' has no operator 'gt3'"],
    ...["'city' has an object without an operator", "'$or' should be a list of conditions"],
    ...["'secret' is hashed", "'nowhere' is not in the structure", 'groupBy should list', "no part 'size'"],
    ...['bucket should be createdAt, updatedAt, or a field', 'timeZone should be', 'every should be from 1s'],
    ...['fill should be true or false', "'City name' has no function sum; a TEXT has min, max, distinct"],
    ...['a number from 0 to 1', "'what' should be", "'two' should be", "having: 'nothing'"],
    ...["having: 'neither'", "'n' has no operator 'gt3'", "'$and' should be a list of conditions"],
    ...['order asc or desc', "sort: 'nobody'", 'limit should be'],
  ])
    t.ok(
      answer.problems.some((problem) => problem.includes(part)),
      part,
      { problems: answer.problems },
    );
});

t.test('bad requests', async (t) => {
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`v${i}`, 'count']));
  const bucket = (more: object) => ({ groupBy: [{ bucket: 'createdAt', every: '1d', ...more }] });
  const bad: readonly (readonly [unknown, RegExp])[] = [
    [{}, /needs groupBy, values or both/],
    [{ values: {} }, /needs groupBy, values or both/],
    [{ values: [] }, /values should be an object/],
    [{ values: many(101) }, /at most 100/],
    [{ groupBy: 'city' }, /groupBy should be an array/],
    [{ groupBy: Array(11).fill('city') }, /at most 10/],
    [{ groupBy: ['city', 'city'] }, /'city' in groupBy or values is there twice/],
    [{ groupBy: ['city'], values: { city: 'count' } }, /is there twice/],
    [{ values: { [`${'x'.repeat(201)}`]: 'count' } }, /longer than 200/],
    [{ where: 7, values: many(1) }, /JSON object of conditions/],
    [bucket({ every: '1x' }), /every should be a number and one of/],
    [bucket({ every: '1001d' }), /every should be from 1d to 1000d/],
    [bucket({ every: 60 }), /every should be a number and one of/],
    [bucket({ timeZone: '+01:00' }), /timeZone/],
    [bucket({ timeZone: "UTC'" }), /timeZone/],
    [bucket({ timeZone: '' }), /timeZone/],
    [bucket({ as: 7 }), /as should be a name/],
    [
      { values: { m: { max: 'createdAt' } }, having: { m: { gt: '2026-01-01' } } },
      /having: 'm' is not among/,
    ],
    [{ values: { m: 'count' }, having: { id: 'x' } }, /having: 'id' is not among/],
    [{ values: { m: 'count' }, having: { m: { contains: 'x' } } }, /has no operator 'contains'/],
    [{ values: { m: 'count' }, having: { m: 'x' } }, /should be a valid number/],
    [{ values: { m: 'count' }, sort: { by: 'm' } }, /sort should be an array/],
    [{ values: { m: 'count' }, limit: 10_001 }, /limit should be a whole number from 1 to 10000/],
    [{ values: { m: 'count' }, limit: '5' }, /limit should be/],
  ];
  for (const [body, problem] of bad)
    t.match(await aggregate(body), { status: 400, problems: [problem] }, JSON.stringify(body).slice(0, 100));
  for (const body of ['[]', '7', 'null', '{', ''])
    t.match(await harness.call({ path: '/p/sales/_aggregate_', structure, body, method: 'POST' }), {
      status: 400,
      code: 'invalid_body',
    });
});

t.test('generated bodies get an answer or a 400 that lists problems', async (t) => {
  const word = fc.constantFrom(
    ...['city', 'amount', 'paid', 'tags', 'home.zip', 'secret', 'id', 'createdAt', 'n', 'x', '$or', ''],
  );
  const junk = fc.jsonValue({ maxDepth: 2 });
  const often = <Value>(good: fc.Arbitrary<Value>): fc.Arbitrary<unknown> =>
    fc.oneof({ weight: 30, arbitrary: good }, junk);
  const conditions = often(
    fc.dictionary(
      word,
      often(fc.dictionary(fc.constantFrom('gt', 'in', 'eq', 'exists', 'has'), junk, { maxKeys: 1 })),
      {
        maxKeys: 1,
      },
    ),
  );
  const bucket = fc.record({
    as: often(word),
    bucket: often(fc.constantFrom('createdAt', 'updatedAt')),
    every: often(fc.constantFrom('1d', '9mo', '100000s', '1000y', '1001y', '-1h')),
    timeZone: often(fc.constantFrom('UTC', 'Asia/Tokyo', 'Etc/GMT+1', '+01:00')),
    fill: often(fc.boolean()),
  });
  const fn = fc.oneof(
    fc.constant('count'),
    fc.dictionary(
      fc.constantFrom('sum', 'avg', 'min', 'max', 'distinct', 'median'),
      fc.oneof({ weight: 9, arbitrary: fc.constant('amount') }, word),
      {
        maxKeys: 1,
      },
    ),
    fc.tuple(fc.constant('amount'), often(fc.constantFrom(0, 0.5, 1))).map((quantile) => ({ quantile })),
  );
  const bodies = fc.record(
    {
      where: conditions,
      groupBy: often(fc.array(fc.oneof(word, bucket), { maxLength: 2 })),
      values: often(fc.dictionary(word, often(fn), { maxKeys: 2 })),
      having: conditions,
      sort: often(
        fc.array(fc.record({ by: word, order: often(fc.constantFrom('asc', 'desc')) }), { maxLength: 1 }),
      ),
      limit: often(fc.integer({ min: 1, max: 20 })),
    },
    { requiredKeys: [] },
  );
  const seen = new Map<number, number>();
  for (const body of fc.sample(bodies, sized(3000, 300))) {
    const { status, problems } = await harness.call({ path: '/p/sales/_aggregate_', structure, body });
    seen.set(status, (seen.get(status) ?? 0) + 1);
    if (status === 200 || (status === 400 && problems.length > 0)) continue;
    t.fail(`${status} ${problems}`, { body });
  }
  t.ok((seen.get(200) ?? 0) > 10 && (seen.get(400) ?? 0) > 10, JSON.stringify([...seen]));
});

t.test('names and texts mean themselves', async (t) => {
  const name = 'a\' OR 1=1; -- ` \\ "';
  await sales.insertOne({ city: name });
  t.strictSame(await aggregate({ where: { city: name }, groupBy: ['city'], values: { [name]: 'count' } }), [
    { city: name, [name]: 1 },
  ]);
});

t.test('a structure is not inferred from what is asked', async (t) => {
  const answer = await harness.call({
    path: '/p/sales/_aggregate_',
    headers: { 'infer-structure': 'true' },
    body: { where: { city: 'Rome' }, values: { n: 'count' } },
  });
  t.equal(answer.status, 200);
});
