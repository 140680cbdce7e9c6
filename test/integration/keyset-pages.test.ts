/** Pages behind a record: together they are what one find answers, in any order, with writes that are not in the table yet. */
import fc from 'fast-check';
import t from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { seed, sized } from '../services/test-size.ts';

const harness = await queryHarnessFor(t);
const structure = structureOf(
  'keyset',
  's',
  fieldsOf('text TEXT, number NUMBER, yes BOOLEAN, list ARRAY, unique NUMBER unique'),
);
const space = spaceOf(harness, 'keyset', 's', structure);

interface Shown {
  readonly id: string;
  readonly [name: string]: unknown;
}

/** All pages, by ids. */
async function pagesOf(
  read: (options: object) => Promise<{ status: number; body: Shown[] }>,
  sort: readonly { by: string; order: string }[] | null,
  limit: number,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let after: object | undefined; ; ) {
    const { status, body } = await read({
      ...(sort === null ? {} : { sort }),
      pagination: { limit, ...(after === undefined ? {} : { after }) },
    });
    if (status !== 200) throw new Error(`${status} behind ${JSON.stringify(after)}`);
    ids.push(...body.map(({ id }) => id));
    const last = body.at(-1);
    if (last === undefined || body.length < limit) return ids;
    after = { id: last.id };
    // one value has a name of its own
    if (sort?.length === 1 && limit % 2 === 0) after = { id: last.id, value: last[sort[0]?.by ?? ''] };
    else if (sort !== null) after = { id: last.id, values: sort.map(({ by }) => last[by]) };
  }
}

const values = fc.record({
  text: fc.option(fc.constantFrom('', 'a', 'A', 'é', '\u{1F600}', "it's", 'a\u0000b', '\\')),
  number: fc.option(fc.constantFrom(0, -1, 1.5, 1e300, 0.1, 5e-324, 2 ** 53)),
  yes: fc.option(fc.boolean()),
  list: fc.option(fc.constantFrom([], [1], [{ a: 'x' }], ['é'])),
});
const sorts = fc.option(
  fc.uniqueArray(
    fc.record({
      by: fc.constantFrom('text', 'number', 'yes', 'list', 'id', 'createdAt', 'updatedAt', 'unique'),
      order: fc.constantFrom('asc', 'desc'),
    }),
    { minLength: 1, maxLength: 3, selector: ({ by }) => by },
  ),
);

t.test('pages behind a record are the whole in its order', { timeout: 280_000 }, async (t) => {
  let next = 0;
  /** What the service said of each record, which is all that the model knows. */
  const model = new Map<string, Shown>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(values, { maxLength: 6 }),
      sorts,
      fc.integer({ min: 1, max: 7 }),
      fc.boolean(),
      async (records, sort, limit, some) => {
        if (records.length > 0) {
          const body = records.map((record) => ({ ...record, unique: next++ }));
          const made = (await space.insert(body)).body as Shown[];
          for (const record of made) model.set(record.id, record);
        }
        const [first] = model.keys();
        if (first !== undefined && next % 5 === 0) {
          await space.deleteOneById(first);
          model.delete(first);
        }
        const query = some ? 'yes=true' : '';
        const whole = await space.find(query, sort === null ? undefined : { sort });
        const paged = await pagesOf((options) => space.find(query, options), sort, limit);
        t.strictSame(
          paged,
          (whole.body as Shown[]).map(({ id }) => id),
          `${JSON.stringify(sort)} by ${limit}`,
        );
        const expected = [...model.values()].filter(({ yes }) => !some || yes === true);
        t.strictSame(new Set(paged), new Set(expected.map(({ id }) => id)), 'each once, and all');
        t.equal(paged.length, expected.length);
        const found = await pagesOf((options) => space.search('', ['text'], options), sort, limit);
        const withText = [...model.values()].filter(({ text }) => (text ?? null) !== null);
        t.equal(found.length, withText.length);
        t.strictSame(new Set(found), new Set(withText.map(({ id }) => id)));
      },
    ),
    { seed, numRuns: sized(40, 10) },
  );
});

t.test('with conditions that one record meets, with findOne, and from the cache', async (t) => {
  const [a, b] = (
    await space.insert([
      { unique: -1, number: 7 },
      { unique: -2, number: 7 },
    ])
  ).body as Shown[];
  const behind = (record: Shown | undefined) => ({ pagination: { limit: 5, after: { id: record?.id } } });
  t.strictSame((await space.find('unique=-1', behind(a))).body, []);
  t.equal((await space.find('unique=-2', behind(a))).body.length, 1);
  t.strictSame((await space.find(`id=${a?.id}`, behind(b))).body, []);
  t.equal((await space.findOne('number=7', behind(a))).body.id, b?.id);
  t.equal((await space.findOne('number=7', behind(b))).body, null);
  const page = { sort: { by: 'number' }, pagination: { limit: 5, after: { id: a?.id, value: 7 } } };
  for (let i = 0; i < 2; i++) t.equal((await space.find('number=7', page)).body.length, 1);
  const { body: c } = await space.insertOne({ unique: -3, number: 7 });
  t.strictSame(
    (await space.find('number=7', page)).body.map(({ id }: Shown) => id),
    [b?.id, c.id],
  );
});

t.test('what is wrong with it is said', async (t) => {
  const id = '0190f000-0000-7000-8000-000000000000';
  const bad: object[] = [
    { pagination: { limit: 1, page: 1, after: { id } } },
    { pagination: { after: { id } } },
    { pagination: { limit: 1, after: null } },
    { pagination: { limit: 1, after: [] } },
    { pagination: { limit: 1, after: {} } },
    { pagination: { limit: 1, after: { id: '' } } },
    { pagination: { limit: 1, after: { id: 1 } } },
    { pagination: { limit: 1, after: { id: 'x'.repeat(201) } } },
    { pagination: { limit: 1, after: { id, value: 1 } } },
    { pagination: { limit: 1, after: { id, value: 'x' } }, sort: { by: 'number' } },
    { pagination: { limit: 1, after: { id, value: 1 } }, sort: { by: 'text' } },
    { pagination: { limit: 1, after: { id, value: {} } }, sort: { by: 'list' } },
    { pagination: { limit: 1, after: { id } }, sort: { by: 'createdAt' } },
    { pagination: { limit: 1, after: { id, value: 'x' } }, sort: { by: 'updatedAt' } },
    { pagination: { limit: 1, after: { id, value: '\ud800' } }, sort: { by: 'text' } },
  ];
  for (const options of bad) {
    t.match(await space.find('', options), { status: 400, code: 'invalid_options' }, JSON.stringify(options));
  }
});
