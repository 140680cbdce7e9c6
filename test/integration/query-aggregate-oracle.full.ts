/** Random aggregations over random records of all types: the answer is what JavaScript makes of the same records. */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, structureOf } from '../services/record-client.ts';
import { full, seed, sized } from '../services/test-size.ts';

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
type Row = Readonly<Record<string, Json>>;

const types = { text: 'TEXT', number: 'NUMBER', flag: 'BOOLEAN', list: 'ARRAY', home: 'OBJECT' } as const;
type Name = keyof typeof types;
const names = Object.keys(types) as Name[];
/** So many that the last fields of a type have no column. */
const fields: FieldInput[] = [
  ...names.map((name) => ({ name, type: types[name] })),
  ...Array.from({ length: 16 }, (_, index) => ({ name: `number${index}`, type: 'NUMBER' })),
];
const last = 'number15';

const texts = fc.constantFrom('', 'a', 'B', 'ab', "it's", '\\', '\u{1f600}', '\uffee', 'é\n', 'null');
const numbers = fc.constantFrom(0, 1, -1, 0.5, -3.25, 7, 1e6, 1e20, 2 ** 53);
/** Of which sums are exact in any order. */
const summed = fc.constantFrom(0, 1, -1, 0.5, -3.25, 7, 1e6);
const values: Readonly<Record<string, fc.Arbitrary<Json>>> = {
  text: texts,
  number: summed,
  flag: fc.boolean(),
  list: fc.array(fc.oneof(texts, fc.constantFrom(1, true, null)), { maxLength: 2 }),
  home: fc.dictionary(fc.constantFrom('city', 'a'), fc.oneof(texts, fc.constantFrom(1, 2, true)), {
    maxKeys: 2,
  }),
  [last]: numbers,
};
const records = fc.record(
  Object.fromEntries(Object.entries(values).map(([name, of]) => [name, fc.option(of)])),
) as fc.Arbitrary<Row>;

const zones = 'UTC Europe/Paris America/New_York Asia/Kolkata Australia/Lord_Howe Africa/Cairo'.split(' ');
/** Days around changes of clocks. */
const days = '2026-03-28 2026-10-24 2026-03-07 2026-10-31 2026-04-04 2024-04-25 2024-12-31'.split(' ');
const times = fc
  .tuple(fc.constantFrom(...days), fc.integer({ min: 0, max: 60 * 3600 }))
  .map(([day, seconds]) => Date.parse(day) + seconds * 1000);

const subjects = [...names, last, 'home.city'];
const functionsOf: Readonly<Record<string, readonly string[]>> = {
  sum: ['number'],
  avg: ['number'],
  min: ['number', 'text', last, 'createdAt', 'id'],
  max: ['number', 'text', last, 'createdAt', 'id'],
  distinct: [...subjects, 'createdAt', 'id'],
};
const computed = fc.oneof(
  fc.constant('count' as const),
  fc
    .constantFrom(...Object.keys(functionsOf))
    .chain((name) => fc.constantFrom(...(functionsOf[name] as string[])).map((field) => ({ [name]: field }))),
  fc.constantFrom(0, 0.25, 0.5, 0.95, 1).map((level) => ({ quantile: ['number', level] })),
);
const buckets = fc.record({
  as: fc.constantFrom('when', 'then'),
  bucket: fc.constant('createdAt'),
  every: fc.constantFrom('90s', '15m', '1h', '7h', '1d', '3d', '1w', '2w', '1mo', '5mo', '1y'),
  timeZone: fc.constantFrom(...zones),
  fill: fc.boolean(),
});
type Bucket = typeof buckets extends fc.Arbitrary<infer Value> ? Value : never;
const wheres: readonly { where: object; test: (row: Row) => boolean }[] = [
  { where: {}, test: () => true },
  { where: { flag: true }, test: ({ flag }) => flag === true },
  { where: { number: { gt: 0 } }, test: ({ number }) => number !== null && Number(number) > 0 },
  { where: { text: 'nobody' }, test: () => false },
];
const aggregations = fc.record({
  where: fc.constantFrom(...wheres),
  groupBy: fc.uniqueArray(fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...subjects) }, buckets), {
    maxLength: 3,
    selector: (group) => (typeof group === 'string' ? group : group.as),
  }),
  values: fc.dictionary(fc.constantFrom('a', 'b', '$or', 'número', '__proto__'), computed, { minKeys: 1 }),
  having: fc.option(fc.integer({ min: 1, max: 4 })),
  descending: fc.boolean(),
  limit: fc.constantFrom(1, 5, 10_000),
});

function valueAt(row: Row, subject: string): Json {
  if (subject !== 'home.city') return row[subject] ?? null;
  return (row.home as { city?: Json } | null)?.city ?? null;
}

/** Making one takes longer than all that it formats here. */
const clocks = new Map(
  zones.map((timeZone) => [
    timeZone,
    new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }),
  ]),
);

/** As clocks of the zone show it. */
function localTime(time: number, zone: string): string {
  return (clocks.get(zone) as Intl.DateTimeFormat).format(time);
}

/** The day of a time, as clocks of the zone show it, in days since 1970. */
function localDay(time: number, zone: string): number {
  return Date.parse(localTime(time, zone).slice(0, 10)) / 86_400_000;
}

const seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };

/** The number of a time's bucket, and from a number how its name begins. */
function numbered({ every, timeZone }: Bucket): {
  of: (time: number) => number;
  name: (number: number) => string;
  isClock: boolean;
} {
  const [, digits, unit = ''] = /^(\d+)(\w+)$/.exec(every) ?? [];
  const n = Number(digits);
  const length = seconds[unit];
  if (length !== undefined) {
    const of = (time: number) => Math.floor(time / (n * length * 1000));
    return { of, name: (number) => new Date(number * n * length * 1000).toISOString(), isClock: true };
  }
  const date = (day: number) => new Date(day * 86_400_000).toISOString().slice(0, 10);
  const months = (number: number) =>
    `${Math.floor(number / 12)}-${String((number % 12) + 1).padStart(2, '0')}-01`;
  const monthOf = (day: number) => Number(date(day).slice(0, 4)) * 12 + Number(date(day).slice(5, 7)) - 1;
  const by = (of: (day: number) => number, name: (number: number) => string) => ({
    of: (time: number) => of(localDay(time, timeZone)),
    name,
    isClock: false,
  });
  if (unit === 'd')
    return by(
      (day) => Math.floor(day / n),
      (number) => date(number * n),
    );
  if (unit === 'w')
    return by(
      (day) => Math.floor((day + 3) / 7 / n),
      (number) => date(number * n * 7 - 3),
    );
  const size = unit === 'y' ? 12 * n : n;
  return by(
    (day) => Math.floor(monthOf(day) / size),
    (number) => months(number * size),
  );
}

/** @param isJson values of a path are ordered by their texts as JSON */
function order(one: Json, other: Json, isJson = false): number {
  if (one === other) return 0;
  if (one === null || other === null) return one === null ? 1 : -1;
  if (typeof one === 'number' && !isJson) return one - (other as number);
  if (typeof one === 'boolean' && !isJson) return one ? 1 : -1;
  const text = (value: Json) => (typeof value === 'string' && !isJson ? value : JSON.stringify(value));
  return Buffer.compare(Buffer.from(text(one)), Buffer.from(text(other)));
}

function compute(spec: unknown, rows: readonly Row[]): Json {
  if (spec === 'count') return rows.length;
  const [name, operand] = Object.entries(spec as object)[0] as [string, string | [string, number]];
  const field = typeof operand === 'string' ? operand : operand[0];
  const given = rows.map((row) => valueAt(row, field)).filter((value) => value !== null);
  if (name === 'distinct')
    return rows.length === 0 ? null : new Set(given.map((value) => JSON.stringify(value))).size;
  if (given.length === 0) return null;
  const sorted = [...given].sort(order);
  const sum = () => given.reduce((total: number, value) => total + Number(value), 0);
  if (name === 'min') return sorted[0] as Json;
  if (name === 'max') return sorted.at(-1) as Json;
  if (name === 'sum') return sum();
  if (name === 'avg') return sum() / given.length;
  return sorted[
    Math.min(given.length - 1, Math.floor((operand as [string, number])[1] * given.length))
  ] as Json;
}

type Aggregation = typeof aggregations extends fc.Arbitrary<infer Value> ? Value : never;

/** What the answer should be; buckets by their numbers. */
function expected(
  rows: readonly Row[],
  { where, groupBy, values, having, descending, limit }: Aggregation,
): Row[] {
  const found = rows.filter(where.test);
  const keys = groupBy.map((group) =>
    typeof group === 'string'
      ? { name: group, fill: false, of: (row: Row) => valueAt(row, group) }
      : {
          name: group.as,
          fill: group.fill,
          of: (row: Row): Json => numbered(group).of(Date.parse(String(row.createdAt))),
        },
  );
  const groups = new Map<string, { key: Json[]; rows: Row[] }>();
  for (const row of found) {
    const key = keys.map(({ of }) => of(row));
    const group = groups.get(JSON.stringify(key)) ?? { key, rows: [] };
    group.rows.push(row);
    groups.set(JSON.stringify(key), group);
  }
  if (groupBy.length === 0) groups.set('[]', { key: [], rows: found });
  for (const [place, { fill }] of keys.entries()) {
    if (!fill) continue;
    const all = [...groups.values()];
    const at = all.map(({ key }) => key[place] as number);
    for (const { key } of all)
      for (let number = Math.min(...at); number <= Math.max(...at); number++) {
        const filled = key.map((value, at) => (at === place ? number : value));
        if (!groups.has(JSON.stringify(filled)))
          groups.set(JSON.stringify(filled), { key: filled, rows: [] });
      }
  }
  const [first = ''] = Object.keys(values);
  const isCompared = typeof compute(values[first], rows) === 'number';
  return [...groups.values()]
    .map(({ key, rows: own }) => ({
      key,
      values: Object.entries(values).map(([name, spec]) => [name, compute(spec, own)] as const),
    }))
    .filter(
      ({ values: [one] }) =>
        having === null || !isCompared || (one?.[1] !== null && Number(one?.[1]) >= having),
    )
    .sort((a, b) => {
      const [one = null, other = null] = [a.values[0]?.[1], b.values[0]?.[1]];
      const byValue = order(one, other);
      if (byValue !== 0) return descending && one !== null && other !== null ? -byValue : byValue;
      for (const place of keys.keys()) {
        const byKey = order(a.key[place] as Json, b.key[place] as Json, keys[place]?.name === 'home.city');
        if (byKey !== 0) return byKey;
      }
      return 0;
    })
    .slice(0, limit)
    .map(({ key, values: own }) =>
      Object.fromEntries([...keys.map(({ name }, place) => [name, key[place] as Json]), ...own]),
    );
}

/** Names of buckets, checked and replaced by their numbers. */
function withNumbers(row: Row, groupBy: Aggregation['groupBy']): Row {
  const changed = Object.entries(row).map(([name, value]) => {
    const bucket = groupBy.find((group) => typeof group === 'object' && group.as === name) as
      | Bucket
      | undefined;
    if (bucket === undefined) return [name, value];
    const { of, name: nameOf, isClock } = numbered(bucket);
    const time = Date.parse(String(value));
    const number = of(time);
    const begins = isClock ? new Date(time).toISOString() : String(value).slice(0, 10);
    const local = localTime(time, bucket.timeZone);
    const isRight = begins === nameOf(number) && local === String(value).slice(0, 19).replace('T', ' ');
    return [
      name,
      isRight && of(time - 1) === number - 1 ? number : `${value} is not the beginning of ${number}`,
    ];
  });
  return Object.fromEntries(changed);
}

for (const singleWriter of full ? [true, false] : [true]) {
  t.test(
    `random aggregations${singleWriter ? '' : ' in a store of several processes'}`,
    { timeout: 600_000 },
    (t) => compare(t, singleWriter),
  );
}

async function compare(t: Test, singleWriter: boolean): Promise<void> {
  let now = 0;
  const harness = await queryHarnessFor(t, { singleWriter, now: () => now });
  const space = spaceOf(harness, 'p', 'records', fields);
  const rows: Row[] = [];
  for (const [index, time] of fc.sample(times, { numRuns: sized(60, 20), seed }).entries()) {
    now = time;
    const { body, status } = await space.insert(fc.sample(records, { numRuns: 5, seed: seed + index }));
    t.equal(status, 200);
    rows.push(...(body as Row[]));
  }
  const structure = structureOf('p', 'records', fields);
  let groups = 0;
  const asked = fc.sample(aggregations, { numRuns: sized(1000, 150), seed });
  for (const aggregation of asked) {
    const { where, groupBy, values, having, descending, limit } = aggregation;
    const [first = ''] = Object.keys(values);
    const isCompared = typeof compute(values[first], rows) === 'number';
    const body = {
      where: where.where,
      groupBy,
      values,
      limit,
      ...(having === null || !isCompared
        ? {}
        : { having: JSON.parse(`{${JSON.stringify(first)}:{"gte":${having}}}`) }),
      sort: [{ by: first, order: descending ? 'desc' : 'asc' }],
    };
    const answer = await harness.call({ path: '/p/records/_aggregate_', structure, body });
    const isTooMuch = answer.problems.some((problem) => problem.includes('fill would make'));
    if (isTooMuch) continue;
    const found =
      answer.status === 200
        ? (answer.body as Row[]).map((row) => withNumbers(row, groupBy))
        : answer.problems;
    const wanted = expected(rows, aggregation);
    groups += wanted.length;
    if (JSON.stringify(found) !== JSON.stringify(wanted)) {
      t.strictSame(found, wanted, JSON.stringify(body));
      return;
    }
  }
  t.ok(groups > asked.length, `${asked.length} aggregations, ${groups} groups`);
}
