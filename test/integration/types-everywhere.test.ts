/** The types of times, days, whole numbers and decimals in every place that has a field, from memory and from the engine. */
import t, { type Test } from 'tap';
import { type QueryCall, type QueryHarness, queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import type { FieldInput } from '../services/record-client.ts';
import { full } from '../services/test-size.ts';

interface Case {
  readonly type: string;
  readonly digits?: { readonly precision: number; readonly scale: number };
  /** Values as they are answered, in their order. */
  readonly values: readonly [low: unknown, middle: unknown, high: unknown];
  /** Other writings of the middle one in JSON, and in a query. */
  readonly json: readonly unknown[];
  readonly query: readonly string[];
  readonly sum?: unknown;
  readonly average?: unknown;
}

const cases: readonly Case[] = [
  {
    type: 'DATETIME',
    values: ['0001-01-01T00:00:00.000Z', '1970-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999999Z'],
    json: ['1970-01-01T01:00:00+01:00', '1970-01-01t00:00:00.000000z', 0, -0],
    query: ['1970-01-01T01:00:00+01:00', '1969-12-31T23:59:00-00:01', '0', '-0'],
  },
  {
    type: 'DATE',
    values: ['0001-01-01', '2024-02-29', '9999-12-31'],
    json: ['2024-02-29'],
    query: ['2024-02-29'],
  },
  { type: 'NUMBER', values: [-1, 0, 4], json: [0, -0], query: ['0', '-0', '.0'], sum: 3, average: 1 },
  {
    type: 'INTEGER',
    values: [-9007199254740991, 0, 9007199254740991],
    json: [0, -0],
    query: ['0', '-0', '+0', '00'],
    sum: 0,
    average: 0,
  },
  {
    type: 'BIGINT',
    values: ['-9223372036854775808', '0', '9223372036854775807'],
    json: [0, -0, '-0', '+0', '000'],
    query: ['0', '-0', '+0'],
    sum: '-1',
    average: '-0.333333',
  },
  {
    type: 'DECIMAL',
    digits: { precision: 18, scale: 2 },
    values: ['-9999999999999999.99', '12.30', '9999999999999999.98'],
    json: [12.3, '12.3', '12.300', '+012.30'],
    query: ['12.3', '12.3000', '+12.30'],
    sum: '12.29',
    average: '4.09666667',
  },
  {
    type: 'DECIMAL',
    digits: { precision: 38, scale: 10 },
    values: [
      '-9999999999999999999999999999.9999999999',
      '0.0000000000',
      '9999999999999999999999999999.9999999998',
    ],
    json: [0, -0, '-0', '0.0', '-0.00000000000'],
    query: ['0', '-0.0'],
    sum: '-0.0000000001',
    average: '-0.0000000000333333',
  },
];

const isServed = process.env.SLUICE_TEST_SERVED !== undefined;
const inEngine = { resultBytes: 0, pending: { cacheBytes: 0 } };
/** Where a server keeps the records, they are never in memory. */
const stores: Readonly<Record<string, Parameters<typeof queryHarnessFor>[1]>> = isServed
  ? { 'a server': {} }
  : {
      memory: {},
      'the engine': inEngine,
      ...(full && { 'an engine that processes share': { singleWriter: false } }),
    };

for (const [store, options] of Object.entries(stores))
  t.test(`from ${store}`, async (t) => {
    const harness = await queryHarnessFor(t, { ...options, freshness: { heardAfter: 0 } });
    await neighbours(harness);
    for (const [number, one] of cases.entries()) {
      // in the default run each type is in one of two stores
      if (!full && !isServed && number % 2 === (options === inEngine ? 0 : 1)) continue;
      for (const isMapped of full ? [false, true] : [options === inEngine]) {
        const digits = one.digits ? `(${one.digits.precision})` : '';
        await t.test(`${one.type}${digits}${isMapped ? ' without a column' : ''}`, async (t) => {
          const place = new Place(harness, one, `${number}${isMapped ? 'm' : ''}`, isMapped);
          await t.test('defaults and unique values', (t) => stored(t, place));
          await t.test('conditions', (t) => conditions(t, place));
          await t.test('orders and pages', (t) => orders(t, place));
          await t.test('groups', (t) => groups(t, place));
          await t.test('key groups and populate', (t) => keys(t, place));
          await t.test('upserts, changes and deletes', (t) => changes(t, place));
          await t.test('rules', (t) => rules(t, place));
        });
      }
    }
  });

/** Spaces whose slots have the names of others, and values that those can't have. */
async function neighbours(harness: QueryHarness): Promise<void> {
  const many = (count: number, type: string): FieldInput[] =>
    Array.from({ length: count }, (_, at) => ({ name: `${type}${at}`, type }));
  for (const [slug, value] of Object.entries({ words: 'abc', times: '0000-99-99T99:99:99Z', none: '' })) {
    const space = spaceOf(harness, 'p', `texts-${slug}`, [...many(24, 'TEXT'), { name: 'a', type: 'TEXT' }]);
    await space.insert([{ a: value }, { a: value }]);
  }
  const numbers = spaceOf(harness, 'p', 'numbers', [...many(16, 'NUMBER'), { name: 'a', type: 'NUMBER' }]);
  await numbers.insert([{ a: 1.5 }, { a: 1e300 }]);
}

/** Spaces with a field `a` of one type. */
class Place {
  readonly harness: QueryHarness;
  readonly one: Case;
  readonly #name: string;
  readonly #fillers: readonly FieldInput[];

  /** @param isMapped behind so many of their kind that the field has no column */
  constructor(harness: QueryHarness, one: Case, name: string, isMapped: boolean) {
    this.harness = harness;
    this.one = one;
    this.#name = name;
    const many = (count: number, type: string): FieldInput[] =>
      Array.from({ length: count }, (_, at) => ({ name: `${type}${at}`, type }));
    this.#fillers = isMapped ? [...many(16, 'NUMBER'), ...many(8, 'BIGINT')] : [];
  }

  fields(more: object = {}): readonly FieldInput[] {
    const { type, digits } = this.one;
    return [...this.#fillers, { name: 'a', type, ...digits, ...more }, { name: 'name', type: 'TEXT' }];
  }

  space(slug: string, more: object = {}) {
    return spaceOf(this.harness, 'p', `${slug}-${this.#name}`, this.fields(more));
  }

  /** A space with a record of each value, and one without. */
  async filled(slug: string) {
    const space = this.space(slug);
    const [low, middle, high] = this.one.values;
    const records = [
      { name: 'high', a: high },
      { name: 'low', a: low },
      { name: 'none', a: null },
      { name: 'middle', a: middle },
    ];
    if ((await space.count()).body?.count !== 4) {
      const { body, problems } = await space.insert(records);
      if (body === null) throw new Error(problems.join());
    }
    return space;
  }
}

const namesOf = (body: readonly { name: string }[] | null): readonly string[] | null =>
  body?.map(({ name }) => name) ?? null;

async function stored(t: Test, place: Place): Promise<void> {
  const { json, values } = place.one;
  const [low, middle, high] = values;
  for (const [at, defaultValue] of json.entries()) {
    const space = place.space(`default${at}`, { defaultValue });
    t.match((await space.insert([{ name: 'given', a: low }, { name: 'missing' }])).body, [
      { a: low },
      { a: middle },
    ]);
    t.match((await space.find([['a', String(middle)]])).body, [{ name: 'missing', a: middle }]);
  }
  const unique = place.space('unique', { unique: true });
  const made = (await unique.insert([{ a: middle }, { a: high }])).body;
  for (const a of json) {
    t.match(await unique.insertOne({ a }), { status: 400, code: 'not_unique' }, JSON.stringify(a));
    t.match(await unique.insert([{ a: low }, { a }]), { status: 400, code: 'not_unique' }, 'none of them');
    t.match(await unique.updateOneById(made[1].id, { a }), { status: 400, code: 'not_unique' });
    t.match((await unique.updateOneById(made[0].id, { a })).body, { a: middle }, 'its own');
    t.match(await unique.insert([{ a: low }, { a: low }]), { status: 400, code: 'not_unique' });
  }
  t.match((await unique.find()).body, [{ a: middle }, { a: high }]);
  t.equal((await unique.deleteOneById(made[0].id)).status, 200);
  t.match((await unique.insertOne({ a: json[0] })).body, { a: middle }, 'what was deleted is free');
}

async function conditions(t: Test, place: Place): Promise<void> {
  const space = await place.filled('values');
  const { json, query, values } = place.one;
  const [low, middle, high] = values;
  const [lowest, highest] = [String(low), String(high)];
  const found = async (given: QueryCall['query']) => {
    const { body, problems } = await space.find(given);
    return namesOf(body) ?? problems;
  };
  const byBody = async (body: object) => {
    const answer = await place.harness.call({
      path: `${space.path}/_find_`,
      structure: space.structure,
      body,
    });
    return namesOf(answer.body) ?? answer.problems;
  };
  for (const [operator, ...names] of [
    ['eq', 'middle'],
    ['ne', 'high', 'low'],
    ['gt', 'high'],
    ['gte', 'high', 'middle'],
    ['lt', 'low'],
    ['lte', 'low', 'middle'],
    ['in', 'middle'],
    ['nin', 'high', 'low'],
  ] as const) {
    for (const text of query)
      t.strictSame(await found([[`a[${operator}]`, text]]), names, `${operator} ${text}`);
    for (const value of json) {
      const operand = operator === 'in' || operator === 'nin' ? [value] : value;
      t.strictSame(
        await byBody({ a: { [operator]: operand } }),
        names,
        `${operator} ${JSON.stringify(value)}`,
      );
    }
  }
  for (const text of query) {
    t.strictSame(await found([['a', text]]), ['middle']);
    t.strictSame(
      await found([
        ['a[in]', highest],
        ['a[in]', text],
      ]),
      ['high', 'middle'],
    );
    t.match((await space.findOne([['a', text]])).body, { name: 'middle', a: middle });
    t.match((await space.count([['a', text]])).body, { count: 1 });
  }
  t.strictSame(await byBody({ a: json[0] }), ['middle']);
  t.strictSame(await found('a[exists]=false'), ['none']);
  t.strictSame(await found('a[exists]=true'), ['high', 'low', 'middle']);
  t.strictSame(
    await found([
      ['$or[0][a]', lowest],
      ['$or[1][a][gt]', query[0] as string],
    ]),
    ['high', 'low'],
  );
  t.strictSame(
    await found([
      ['$and[0][a][gte]', lowest],
      ['$and[0][a][lt]', highest],
    ]),
    ['low', 'middle'],
  );
  t.strictSame(await found([['$not[0][a][lt]', highest]]), ['high', 'none']);
  t.strictSame(await byBody({ $or: [{ a: low }, { $not: [{ a: { lte: high } }] }] }), ['low', 'none']);
  t.strictSame(await byBody({ a: { gt: low, lt: high } }), ['middle']);
  const many = Array.from({ length: 40 }, (_, at) => values[at % 3 === 0 ? 0 : 2]);
  t.strictSame(await byBody({ a: { in: many } }), ['high', 'low'], 'a long list');
  for (const operator of ['contains', 'istartsWith', 'endsWith', 'has', 'hasAny', 'size']) {
    const answer = await space.find([[`a[${operator}]`, query[0] as string]]);
    t.match(answer, { status: 400, code: 'invalid_condition' });
    t.match(answer.problems, [
      /'a' has no operator '\w+'; an? [A-Z]+ has eq, ne, in, nin, exists, gt, gte, lt, lte$/,
    ]);
  }
  t.match(await space.search('1', ['a']), { status: 400 });
}

async function orders(t: Test, place: Place): Promise<void> {
  const space = await place.filled('values');
  const ordered = ['low', 'middle', 'high'];
  for (const [sort, names] of [
    ['a', [...ordered, 'none']],
    ['-a', [...ordered.toReversed(), 'none']],
  ] as const) {
    t.strictSame(namesOf((await space.find([['$sort', sort]])).body), names);
    const pages: string[] = [];
    let query = `$sort=${sort}&$limit=1`;
    for (let page = 0; page < 6 && query !== ''; page++) {
      const answer = await place.harness.respond({ path: space.path, structure: space.structure, query });
      const next = /^<\?([^>]+)>; rel="next"$/.exec(String(answer.headers?.link ?? ''))?.[1];
      const { body } = await space.find(query);
      pages.push(...(namesOf(body) as string[]));
      query = next ?? '';
    }
    t.strictSame(pages, names, 'page by page');
  }
  const several = {
    sort: [
      { by: 'name', order: 'asc' },
      { by: 'a', order: 'desc' },
    ],
  };
  t.strictSame(namesOf((await space.find('', several)).body), ['high', 'low', 'middle', 'none']);
  const [, middle] = place.one.values;
  const [{ id }] = (await space.find([['name', 'middle']])).body;
  t.strictSame((await space.find('name=middle&$select=a')).body, [{ id, a: middle }]);
  for (const value of place.one.json) {
    const after = { sort: { by: 'a', order: 'asc' }, pagination: { limit: 5, after: { id, value } } };
    t.strictSame(
      namesOf((await space.find('', after)).body),
      ['high', 'none'],
      `after ${JSON.stringify(value)}`,
    );
  }
  const wrong = { sort: { by: 'a' }, pagination: { limit: 5, after: { id, value: 'x' } } };
  t.match(await space.find('', wrong), { status: 400, code: 'invalid_options' });
}

async function groups(t: Test, place: Place): Promise<void> {
  const { one } = place;
  const [low, middle, high] = one.values;
  const space = await place.filled('values');
  const result = async (body: object) => {
    const answer = await space.aggregate(body);
    return answer.body ?? answer.problems;
  };
  const values = { n: 'count', least: { min: 'a' }, most: { max: 'a' }, different: { distinct: 'a' } };
  t.strictSame(await result({ values }), [{ n: 4, least: low, most: high, different: 3 }]);
  const of = (a: unknown) => ({ a, n: 1, least: a, most: a, different: a === null ? 0 : 1 });
  t.strictSame(await result({ groupBy: ['a'], values }), [low, middle, high, null].map(of));
  t.strictSame(
    await result({ groupBy: ['a'], values, sort: [{ by: 'most', order: 'desc' }], limit: 2 }),
    [high, middle].map(of),
  );
  for (const value of one.json) {
    const above = await result({ groupBy: ['a'], values, having: { most: { gte: value } } });
    t.strictSame(above, [middle, high].map(of), `having ${JSON.stringify(value)}`);
    t.strictSame(await result({ groupBy: ['a'], values, having: { least: value } }), [of(middle)]);
  }
  t.strictSame(await result({ values, where: { a: { lt: middle } } }), [
    { n: 1, least: low, most: low, different: 1 },
  ]);
  if (one.sum === undefined) {
    for (const name of ['sum', 'avg'])
      t.match(
        await result({ values: { x: { [name]: 'a' } } }),
        [new RegExp(`${name}.*'a'.*${one.type}|'a'`)],
        name,
      );
    return;
  }
  t.strictSame(
    await result({
      values: {
        sum: { sum: 'a' },
        mean: { avg: 'a' },
        half: { quantile: ['a', 0.5] },
        top: { quantile: ['a', 1] },
      },
    }),
    [{ sum: one.sum, mean: one.average, half: middle, top: high }],
  );
  t.strictSame(await result({ values: { sum: { sum: 'a' } }, having: { sum: { lte: one.sum } } }), [
    { sum: one.sum },
  ]);
  t.strictSame(await result({ values: { sum: { sum: 'a' } }, having: { sum: { ne: one.sum } } }), []);
}

async function keys(t: Test, place: Place): Promise<void> {
  const { json, values } = place.one;
  const [low, middle, high] = values;
  const group = place.space('group');
  t.match((await group.setKeys({ a: json[0] })).body, { a: middle });
  t.match((await group.getKeys()).body, { a: middle });
  t.match((await group.setKeys({ a: high })).body, { a: high });
  t.match((await group.getKeys()).body, { a: high });

  for (const unique of [false, true]) {
    const slug = `targets-${unique}`;
    const targets = place.space(slug, { unique });
    await targets.insert([
      { name: 'one', a: middle },
      { name: 'two', a: low },
    ]);
    const from = targets.path.slice('/p/'.length);
    const populate = [{ space: from, fields: { from, foreignKey: 'a', localKey: 'a', newField: 'other' } }];
    const { body } = await (await place.filled('values')).find('$sort=a', { populate });
    t.match(body, [
      { name: 'low', other: { name: 'two', a: low } },
      { name: 'middle', other: { name: 'one', a: middle } },
      { name: 'high', other: null },
      { name: 'none', other: null },
    ]);
  }
}

async function changes(t: Test, place: Place): Promise<void> {
  const { json, query, values } = place.one;
  const [low, middle, high] = values;
  const space = place.space('members', { unique: true });
  await space.insert([
    { name: 'one', a: middle },
    { name: 'two', a: high },
  ]);
  const upsert = (body: unknown, what: string) =>
    space.insert(body, { options: JSON.stringify({ onConflict: { field: 'a', do: what } }) });
  for (const [at, a] of json.entries()) {
    const { body } = await upsert(
      [
        { name: `changed${at}`, a },
        { name: 'kept', a: high },
      ],
      'update',
    );
    t.match(
      body,
      [
        { name: `changed${at}`, a: middle },
        { name: 'kept', a: high },
      ],
      JSON.stringify(a),
    );
    t.match((await upsert([{ name: 'skipped', a }], 'skip')).body, [{ name: `changed${at}`, a: middle }]);
  }
  t.match((await upsert([{ name: 'new', a: low }], 'update')).body, [{ name: 'new', a: low }]);
  t.match((await space.find('$sort=a')).body, [{ a: low }, { a: middle }, { a: high }]);
  for (const text of query)
    t.match((await space.updateOne([['a', text]], { name: `by ${text}` })).body, {
      name: `by ${text}`,
      a: middle,
    });
  const many = (path: string, body: object) =>
    place.harness.call({ path: `${space.path}/${path}`, structure: space.structure, body });
  t.match((await many('_update_', { where: { a: { gte: json[0] } }, set: { name: 'many' } })).body, {
    updated: 2,
  });
  t.strictSame(namesOf((await space.find('$sort=a')).body), ['new', 'many', 'many']);
  t.match((await many('_delete_', { where: { a: json[0] } })).body, { deleted: 1 });
  t.match((await space.find('$sort=a')).body, [{ a: low }, { a: high }]);
  const [{ id }] = (await space.find([['a', String(high)]])).body;
  t.match((await space.updateOneById(id, { a: json[0] })).body, { a: middle });
  t.match((await space.updateOneById(id, { a: null })).body, { a: null });
  t.match((await space.updateOneById(id, { a: high })).body, { a: high });
  t.match((await space.deleteOneById(id)).body, { a: high });
  t.match((await space.find()).body, [{ a: low }]);
  t.match(await space.updateOne('name=new', { a: 'x' }), { status: 400, code: 'invalid_value' });
}

const publishable = { 'test-grants': JSON.stringify({ publishable: true, origins: ['*'] }) };

async function rules(t: Test, place: Place): Promise<void> {
  const { json, values } = place.one;
  const [low, middle, high] = values;
  const space = place.space('ruled');
  const made = (
    await space.insert([
      { name: 'low', a: low },
      { name: 'middle', a: middle },
      { name: 'high', a: high },
    ])
  ).body;
  const slug = space.path.slice('/p/'.length);
  const set = (given: object) =>
    place.harness.call({ method: 'PUT', path: `/_projects_/p/spaces/${slug}/rules`, body: given });
  const shown = async () => namesOf((await space.find('', undefined, publishable)).body);
  for (const value of json) {
    const where = { a: { lte: value } };
    const answer = await set({ find: where, insert: where, update: where });
    t.equal(answer.status, 200, JSON.stringify(answer.problems));
    t.strictSame(await shown(), ['low', 'middle']);
    const as = (call: Pick<QueryCall, 'path' | 'body'> & Partial<QueryCall>) =>
      place.harness.call({ structure: space.structure, headers: publishable, ...call });
    t.match(await as({ path: `${space.path}/_single_`, body: { a: high } }), { status: 403 });
    const change = (index: number, a: unknown) =>
      as({ path: `${space.path}/update-by-id`, query: [['id', made[index].id]], body: { a } });
    t.match(await change(0, high), { status: 403 });
    t.match(await change(2, low), { status: 400, code: 'no_match' });
    t.match((await change(0, low)).body, { a: low });
  }
  t.match(await set({ find: { a: { lte: 'x' } } }), { status: 400, code: 'invalid_rules' });
  if (typeof low === 'string' && low.startsWith('0001-')) {
    t.equal((await set({ find: { a: { lte: '$now' } } })).status, 200);
    t.strictSame(await shown(), ['low', 'middle']);
    t.equal((await set({ find: { a: { gt: '$now' } }, insert: true, set: { a: '$now' } })).status, 200);
    t.strictSame(await shown(), ['high']);
  }
}
