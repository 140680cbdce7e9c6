/** A find may be a statement of its own, share one with others, or be answered from memory: always the same. */
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import t from 'tap';
import type { Database } from '#engine/database.ts';
import type { MemoryTable } from '#records/memory/memory-table.ts';
import { MemoryTables } from '#records/memory/memory-tables.ts';
import { KnownRecords } from '#records/store-embedded/known-records.ts';
import { ResultCache } from '#records/store-embedded/result-cache.ts';
import { type QueryAnswer, queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { sized } from '../services/test-size.ts';

/** Answers only when it may. */
class SwitchedTables extends MemoryTables {
  isOn = false;

  override find(spaceId: string): MemoryTable | null {
    return this.isOn ? super.find(spaceId) : null;
  }
}

const tables = new SwitchedTables(1e8, { mostCompared: 20 });
/** Statements that read records as rows or as JSON text. */
let statements = 0;
const counting = (db: Database): Database => ({
  ...db,
  rows(statement) {
    if (statement.sql.includes('.records ')) statements++;
    return db.rows(statement);
  },
  stream(statement) {
    statements++;
    return db.stream(statement);
  },
});
const harness = await queryHarnessFor(t, {
  singleWriter: true,
  wrap: counting,
  cache: () => new ResultCache(0),
  pending: { known: new KnownRecords(tables), fewestMisses: 200 },
});

const texts = ['', 'a', 'abcdef', 'abcdefg', 'Ä', 'ä', '😀', '\'\\\n"', '5'];
const numbers = [-2, -0.5, 0, 5, 7, 1e21, 0.1];
const fields = fieldsOf('text TEXT, other TEXT, number NUMBER, flag BOOLEAN, list ARRAY, home OBJECT');
const space = spaceOf(harness, 'p', 'ways', fields);
const maybe = <Value>(values: readonly Value[]) => fc.option(fc.constantFrom(...values), { nil: undefined });
const lists = [[], [1], ['a', null]];
const homes = [{}, { city: 'Paris' }, { city: null, a: { b: [1e21, '\u0007/é'] } }, { city: { x: 1 }, a: 1 }];
const record = fc.record({
  text: maybe(texts),
  other: maybe(texts),
  number: maybe(numbers),
  flag: maybe([true, false]),
  list: maybe(lists),
  home: maybe<unknown>(homes),
});
const records = fc.sample(record, { numRuns: 700, seed: 5 });

type Ask = { readonly query: readonly [string, string][]; readonly options: object | undefined };
const textPair = fc.tuple(fc.constant('text'), fc.constantFrom(...texts));
const bound = (operator: string) =>
  fc.tuple(fc.constant(`number[${operator}]`), fc.constantFrom(...numbers.map(String)));
const pairs = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(textPair) },
  {
    weight: 8,
    arbitrary: fc.tuple(textPair, fc.tuple(fc.constant('number'), fc.constantFrom(...numbers.map(String)))),
  },
  { weight: 2, arbitrary: fc.tuple(bound('gte'), bound('lt')) },
  { weight: 1, arbitrary: fc.tuple(bound('gt'), textPair) },
  { weight: 1, arbitrary: fc.tuple(fc.tuple(fc.constant('text[startsWith]'), fc.constantFrom(...texts))) },
  {
    weight: 1,
    arbitrary: fc.array(fc.tuple(fc.constant('text[in]'), fc.constantFrom(...texts)), {
      minLength: 1,
      maxLength: 3,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.array(
      fc.oneof(
        fc.tuple(fc.constantFrom('text', 'other'), fc.constantFrom(...texts)),
        fc.tuple(fc.constant('flag'), fc.constantFrom('true', 'false')),
        fc.tuple(fc.constant('list'), fc.constantFrom(...lists.map((list) => JSON.stringify(list)))),
      ),
      { minLength: 1, maxLength: 3 },
    ),
  },
) as fc.Arbitrary<[string, string][]>;
const page = fc.record({ limit: fc.constantFrom(1, 7, 20), page: fc.integer({ min: 1, max: 8 }) });
const sort = fc.constantFrom(
  ...['text', 'number', 'flag', 'list', 'home', 'id', 'createdAt'].flatMap((by) => [
    { by, order: 'asc' },
    { by, order: 'desc' },
  ]),
);
const sorts = fc.oneof(
  { weight: 2, arbitrary: sort },
  {
    weight: 1,
    arbitrary: fc.uniqueArray(sort, { minLength: 2, maxLength: 3, selector: ({ by }) => by }),
  },
);
const select = fc.subarray(['id', 'text', 'number', 'list', 'createdAt', 'home', 'home.city', 'home.a.b'], {
  minLength: 1,
});
const options = fc.oneof(
  { weight: 6, arbitrary: fc.constant(undefined) },
  {
    weight: 4,
    arbitrary: fc.record({ pagination: page, sort: fc.constant({ by: 'number', order: 'desc' }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record(
      { paramRelationship: fc.constant('Or'), pagination: page, sort: sorts, select },
      { requiredKeys: [] },
    ),
  },
);
const asks: readonly Ask[] = fc.sample(
  fc.record({
    query: pairs,
    options,
  }),
  { numRuns: sized(2000, 150), seed: 6 },
);

const find = async ({ query, options }: Ask): Promise<QueryAnswer['body']> => {
  const { status, body, text } = await space.find(query, options);
  if (status !== 200) throw new Error(text);
  return body;
};
const findOne = async ({ query, options }: Ask): Promise<QueryAnswer['body']> =>
  (await space.findOne(query, options)).body;

const searches = ['', 'A', 'DEF', 'ä', '😀', '"'].flatMap((searched) =>
  texts.map((text) => ({ searched, text })),
);
const search = ({ searched, text }: (typeof searches)[number]) =>
  harness.call({
    path: '/p/ways/search',
    structure: structureOf('p', 'ways', fields),
    query: [
      ['searchText', searched],
      ['searchableFields', 'other'],
      ['text', text],
      ['number', '5'],
    ],
  });

for (let at = 0; at < records.length; at += 100) await space.insert(records.slice(at, at + 100));
const alone: { readonly list: unknown; readonly first: unknown }[] = [];
for (const ask of asks) alone.push({ list: await find(ask), first: await findOne(ask) });
const statementsAlone = statements;
const searched: unknown[] = [];
for (const one of searches) searched.push((await search(one)).body);

t.test('finds that come together share statements, and answer as alone', async (t) => {
  statements = 0;
  const together = await Promise.all(asks.map((ask) => find(ask)));
  t.strictSame(
    together,
    alone.map(({ list }) => list),
  );
  const firsts = await Promise.all(asks.map((ask) => findOne(ask)));
  t.strictSame(
    firsts,
    alone.map(({ first }) => first),
  );
  t.ok(statements < statementsAlone * 0.7, `${statements} statements, alone ${statementsAlone}`);
});

t.test('pages of any depth share statements, and are those of the whole list', async (t) => {
  const sort = { by: 'number', order: 'desc' };
  const lists = await Promise.all(texts.map((text) => find({ query: [['text', text]], options: { sort } })));
  statements = 0;
  const limit = 3;
  const wanted = texts.flatMap((text, at) =>
    Array.from({ length: Math.ceil(lists[at].length / limit) + 1 }, (_, page) => ({ text, at, page })),
  );
  const pages = await Promise.all(
    wanted.map(({ text, page }) =>
      find({ query: [['text', text]], options: { sort, pagination: { limit, page: page + 1 } } }),
    ),
  );
  t.strictSame(
    pages,
    wanted.map(({ at, page }) => lists[at].slice(page * limit, (page + 1) * limit)),
  );
  t.ok(wanted.length > 150, `${wanted.length} pages`);
  t.ok(statements < wanted.length / 20, `${statements} statements for ${wanted.length} pages`);
});

t.test('finds by ranges and lists share statements, and answer as alone', async (t) => {
  const few = spaceOf(harness, 'p', 'few', fields);
  const made = Array.from({ length: 500 }, (_, number) => ({
    ...(number % 7 === 0 ? {} : { number }),
    text: `${number % 50}`,
    flag: number % 2 === 0,
    list: [number % 3],
  }));
  const { body: stored } = await few.insert(made);
  const kinds: readonly ((at: number) => string)[] = [
    (at) => `number[gte]=${at * 6}&number[lt]=${at * 6 + 20}`,
    (at) => `text[in]=${at}&text[in]=${at + 1}&text[in]=${at + 100}`,
    (at) => `flag=true&number[in][]=${at}&number[in][]=${at + 2}`,
    (at) => `text[gt]=${at}&text[lte]=${at + 1}&number[lt]=${200 + at}`,
    (at) =>
      `createdAt[lte]=${stored[0].createdAt}&id[gt]=${stored[495 - at].id}&id[lte]=${stored[499 - at].id}`,
    (at) => `list[in]=[${at}]&number[gt]=490`,
    // more than a statement of many may have
    (at) => `number[gt]=${at}`,
  ];
  for (const options of [undefined, { sort: { by: 'text', order: 'desc' } }, { paramRelationship: 'Or' }]) {
    for (const kind of kinds) {
      const queries = Array.from({ length: sized(64, 12) }, (_, at) => kind(at));
      const expected: unknown[] = [];
      for (const query of queries) expected.push((await few.find(query, options)).body);
      statements = 0;
      const together = await Promise.all(queries.map((query) => few.find(query, options)));
      const answers = together.map(({ body }) => body);
      t.strictSame(answers, expected, kind(0));
      const hasMany = expected.some((records) => (records as unknown[]).length > 100);
      if (!hasMany) t.ok(statements <= 8, `${statements} statements for ${queries[0]}`);
    }
  }
});

t.test('rows in memory answer as the engine does', async (t) => {
  tables.isOn = true;
  for (let round = 0; tables.bytes === 0 || tables.find('') !== null; round++) {
    if (round === 500) throw new Error('the space was not read into memory');
    await sleep(10);
  }
  let different = 0;
  // the first round builds the indexes, and is answered by both
  for (let round = 0; round < 3; round++) {
    statements = 0;
    for (const [at, ask] of asks.entries()) {
      const { list, first } = alone[at] as (typeof alone)[number];
      if (JSON.stringify(await find(ask)) !== JSON.stringify(list)) different++;
      if (JSON.stringify(await findOne(ask)) !== JSON.stringify(first)) different++;
    }
  }
  t.equal(different, 0);
  t.ok(tables.indexes > 5, `${tables.indexes} indexes`);
  t.ok(statements < asks.length, `${statements} statements for ${2 * asks.length} requests`);
});

t.test('a text is searched for in memory among the few records that conditions leave', async (t) => {
  // the first ones build the index
  for (const one of searches) await search(one);
  statements = 0;
  const found = [];
  for (const one of searches) found.push((await search(one)).body);
  t.strictSame(found, searched);
  t.equal(statements, 0);
});
