import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import t from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import '../services/test-size.ts';

const harness = await queryHarnessFor(t);

const types = { text: 'TEXT', number: 'NUMBER', flag: 'BOOLEAN', list: 'ARRAY', map: 'OBJECT' } as const;
const names = Object.keys(types) as (keyof typeof types)[];
const space = (slug: string) =>
  spaceOf(
    harness,
    'props',
    slug,
    names.map((name) => ({ name, slug: `${name}-slug`, type: types[name] })),
  );
type Fields = Record<string, unknown>;

const hostile = fc.constantFrom(
  ...["'", '\\', "\\'", '\\\\', '\0', 'NULL', "'], 'x", '%', '\n', '\t', '[]', '-0', 'true', ''],
);
const text = fc.oneof(hostile, fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }));
const json = fc.oneof(fc.jsonValue({ stringUnit: 'binary' }), text);
const arbitraries = {
  text,
  number: fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer()),
  flag: fc.boolean(),
  list: fc.array(json, { maxLength: 4 }),
  map: fc.dictionary(text, json, { maxKeys: 4, noNullPrototype: true }),
};
const changes = fc
  .record(
    Object.fromEntries(
      names.map((name) => [
        name,
        fc.oneof({ weight: 5, arbitrary: arbitraries[name] as fc.Arbitrary<unknown> }, fc.constant(null)),
      ]),
    ),
    { requiredKeys: [] },
  )
  .filter((value) => Object.keys(value).length > 0);

/** As JSON carries it; -0 equals 0. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}

t.test('any values of their types are set as they are, many at once', async (t) => {
  const any = space('any');
  const { body } = await any.insert(Array.from({ length: 8 }, (_, i) => ({ number: i })));
  const model: Fields[] = body;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(7), changes), { minLength: 1, maxLength: 10 }),
      async (steps) => {
        const answers = await Promise.all(
          steps.map(([index, change]) => any.updateOneById(model[index]?.id as string, change)),
        );
        // those of one record are made in the order in which they were asked for
        for (const [step, answer] of answers.entries()) {
          const [index, change] = steps[step] as [number, Fields];
          if (answer.status !== 200) throw new Error(`refused: ${answer.problems.join()}`);
          const before = model[index] as Fields;
          const { updatedAt, ...after } = { ...before, ...change };
          const { updatedAt: moved, ...fields } = answer.body;
          if (!isDeepStrictEqual(plain(fields), plain(after))) {
            throw new Error(`${answer.text} after ${JSON.stringify(change)}`);
          }
          if (!(moved > (updatedAt as string))) throw new Error(`${moved} is not after ${updatedAt}`);
          model[index] = answer.body;
        }
        const found = (await any.find()).body;
        if (!isDeepStrictEqual(found, model)) throw new Error('find has other records');
      },
    ),
    { numRuns: 80 },
  );
  t.strictSame((await any.find()).body, model);
});

t.test('inserts, updates, deletes and conditions agree with a model', async (t) => {
  const small = space('model');
  /** In the order of insertion. */
  let model: Fields[] = [];
  const few = fc.constantFrom('a', 'b', "c'");
  const step = fc.oneof(
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('insert' as const), text: few, number: fc.nat(3) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('update' as const), where: few, change: changes }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('move' as const), where: fc.nat(3), text: few }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), index: fc.nat(20) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('find' as const), text: few }) },
  );
  let done = 0;
  const run = async (
    steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[],
  ): Promise<void> => {
    for (const each of steps) {
      done++;
      if (each.kind === 'insert') {
        const { body } = await small.insertOne({ text: each.text, number: each.number });
        model.push(body);
      } else if (each.kind === 'update' || each.kind === 'move') {
        const [name, where] = each.kind === 'update' ? ['text', each.where] : ['number', each.where];
        const change = each.kind === 'update' ? each.change : { text: each.text };
        const index = model.findIndex((record) => record[name as string] === where);
        const answer = await small.updateOne([[name as string, String(where)]], change);
        if ((index === -1) !== (answer.code === 'no_match'))
          throw new Error(`answered ${answer.status} ${answer.code}`);
        if (index === -1) continue;
        const { updatedAt: _a, ...expected } = { ...model[index], ...change };
        const { updatedAt: _b, ...actual } = answer.body;
        if (!isDeepStrictEqual(plain(actual), plain(expected))) throw new Error(answer.text);
        model[index] = answer.body;
      } else if (each.kind === 'delete') {
        const victim = model[each.index];
        const answer = await small.deleteOneById((victim?.id as string) ?? 'nosuch');
        if (answer.status !== (victim === undefined ? 400 : 200))
          throw new Error(`answered ${answer.status}`);
        if (victim !== undefined && !isDeepStrictEqual(answer.body, victim)) throw new Error(answer.text);
        model = model.filter((record) => record !== victim);
      } else {
        const { body } = await small.find([['text', each.text]]);
        if (
          !isDeepStrictEqual(
            body,
            model.filter(({ text }) => text === each.text),
          )
        )
          throw new Error('found others');
      }
    }
    const { body } = await small.find();
    if (!isDeepStrictEqual(body, model)) throw new Error('find has other records');
  };
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 12 }), run), {
    numRuns: 60,
    endOnFailure: true,
  });
  t.ok(done > 200, `${done} steps`);
  await harness.restart();
  t.strictSame((await small.find()).body, model);
});
