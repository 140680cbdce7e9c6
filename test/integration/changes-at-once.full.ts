/** Unique values, and changes of one record at once, where a process has its store for itself and where it has not. */
import t from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';

/** Sums of doubles of any size, always the same. */
const exactSums = Array.from({ length: 12 }, (_, at) => {
  const mantissa = (part: number): number => ((at * 7919 + part * 104_729) % 99_991) / 997;
  return [mantissa(1) * 10 ** (4 * at - 20), -mantissa(2) * 10 ** (4 * at - 21)] as const;
});

for (const singleWriter of [true, false]) {
  t.test(singleWriter ? 'the only process of a store' : 'one of several processes', async (t) => {
    const harness = await queryHarnessFor(t, { singleWriter });
    const space = (slug: string, fields: readonly FieldInput[]) => spaceOf(harness, 'p', slug, fields);
    const code = (unique: boolean): FieldInput[] => [{ name: 'code', type: 'NUMBER', unique }];
    const refused = { status: 400, code: 'not_unique' };

    t.test(
      'a value that an insert or an update brought is refused; its own record may keep it',
      async (t) => {
        const codes = space('codes', code(true));
        const [first, second] = (await codes.insert([{ code: 1 }, { code: 2 }])).body;
        t.match(await codes.insertOne({ code: 1 }), refused);
        t.match(await codes.updateOneById(second.id, { code: 1 }), refused);
        t.match(await codes.updateOneById(first.id, { code: 1 }), { status: 200, body: { code: 1 } });
        t.match(await codes.updateOneById(second.id, { code: 3 }), { status: 200, body: { code: 3 } });
        t.match(await codes.insertOne({ code: 3 }), refused);
        t.equal((await codes.insertOne({ code: 2 })).status, 200, 'what was given up is free');
      },
    );

    t.test('a value is refused that came before its field was unique', async (t) => {
      await space('later', code(false)).insertOne({ code: 1 });
      t.match(await space('later', code(true)).insertOne({ code: 1 }), refused);
    });

    t.test('of several updates to one value one is made', async (t) => {
      const codes = space('wanted', code(true));
      const made = (await codes.insert([1, 2, 3, 4].map((each) => ({ code: each })))).body;
      const answers = await Promise.all(
        made.map(({ id }: { id: string }) => codes.updateOneById(id, { code: 9 })),
      );
      t.strictSame(answers.map(({ status }) => status).sort(), [200, 400, 400, 400]);
      t.equal((await codes.find('code=9')).body.length, 1);
    });

    t.test('updates of different fields of one record are all made', async (t) => {
      const names = ['a', 'b', 'c', 'd', 'e', 'f'];
      const wide = space(
        'wide',
        names.map((name) => ({ name, type: 'NUMBER' })),
      );
      const { id } = (await wide.insertOne({ a: -1 })).body;
      await Promise.all(names.map((name, value) => wide.updateOneById(id, { [name]: value })));
      t.match((await wide.find()).body, [{ a: 0, b: 1, c: 2, d: 3, e: 4, f: 5 }]);
    });

    t.test('what many add to a number at once is all there, and each is told its own sum', async (t) => {
      const fields = ['count', 'other'].map((name): FieldInput => ({ name, type: 'NUMBER' }));
      const counters = space('counters', [...fields, { name: 'text', type: 'TEXT' }]);
      const { id } = (await counters.insertOne({ text: 'a' })).body;
      const add = (_: unknown, at: number) =>
        counters.updateOneById(id, { count: { $inc: 1 }, ...(at % 10 === 0 ? { text: `${at}` } : {}) });
      const answers = await Promise.all(Array.from({ length: 100 }, add));
      t.strictSame(
        answers.map(({ body }) => body.count).sort((a, b) => a - b),
        Array.from({ length: 100 }, (_, at) => at + 1),
      );
      const { body } = await counters.updateOne([['count', '100']], {
        count: { $inc: -0.5 },
        other: { $inc: 2 },
      });
      t.match(body, { count: 99.5, other: 2 });
      t.equal((await counters.find('count=99.5')).body.length, 1);
    });

    t.test('a sum is the one that JavaScript makes, in a column and beyond the columns', async (t) => {
      const names = Array.from({ length: 17 }, (_, at) => `n${at}`);
      const wide = space(
        'sums',
        names.map((name) => ({ name, type: 'NUMBER' })),
      );
      for (const [from, by] of [...exactSums, [0.1, 0.2], [1e20, 1e21], [5e-7, 5e-7], [-1, 1]] as const) {
        const { id } = (await wide.insertOne({ n0: from, n16: from })).body;
        const { body } = await wide.updateOneById(id, { n0: { $inc: by }, n16: { $inc: by } });
        t.match(body, { n0: from + by, n16: from + by }, `${from} + ${by}`);
        const sum = String(from + by);
        const found = await wide.find([
          ['id', id],
          ['n0', sum],
          ['n16', sum],
        ]);
        t.match(found.body, [{ id }], sum);
      }
    });

    t.test('what two processes add to one record is all there', async (t) => {
      const structure = structureOf('p', 'between', fieldsOf('count NUMBER'));
      const both = [harness, singleWriter ? harness : harness.another()].map((each) =>
        spaceOf(each, 'p', 'between', structure),
      );
      const { id } = (await both[0]?.insertOne({ count: 1 }))?.body ?? {};
      const add = (_: unknown, at: number) => both[at % 2]?.updateOneById(id, { count: { $inc: 0.5 } });
      await Promise.all(Array.from({ length: 40 }, add));
      t.match((await both[0]?.find())?.body, [{ count: 21 }]);
    });

    t.test('only a number can be added, to a field that is one', async (t) => {
      const counters = space(
        'refusals',
        fieldsOf('count NUMBER, code NUMBER unique, pin NUMBER hashed, text TEXT, more OBJECT'),
      );
      const { id } = (await counters.insertOne({ count: 1.7e308, more: { $inc: 1 } })).body;
      const wrong = ['1', null, true, [1], {}, { $inc: 1 }, 1e308, -1e292];
      for (const by of wrong)
        t.match(await counters.updateOneById(id, { count: { $inc: by } }), {
          status: 400,
          code: 'invalid_value',
        });
      const stored = { 'use-pre-stored-structure': 'true' };
      const raw = { path: '/p/refusals/update-by-id', query: `id=${id}`, headers: stored };
      for (const by of ['1e999', 'NaN', '-1e400'])
        t.match((await harness.call({ ...raw, body: `{"count":{"$inc":${by}}}` })).status, 400);
      for (const changes of [{ count: { $inc: 1, $mul: 2 } }, { count: { $mul: 1 } }, { code: { $inc: 1 } }])
        t.match(await counters.updateOneById(id, changes), { status: 400, code: 'invalid_value' });
      for (const changes of [
        { pin: { $inc: 1 } },
        { text: { $inc: 1 } },
        { __proto__: null, $inc: { count: 1 } },
      ])
        t.match(await counters.updateOneById(id, changes), { status: 400, code: 'invalid_value' });
      t.equal((await counters.insertOne({ count: { $inc: 1 } })).status, 400);
      t.match((await counters.find()).body, [{ count: 1.7e308, more: { $inc: 1 } }], 'all is as it was');
      // the largest of all numbers plus the largest that can be added is still one
      await counters.updateOneById(id, { count: Number.MAX_VALUE });
      t.match((await counters.updateOneById(id, { count: { $inc: 1e291 } })).body, {
        count: Number.MAX_VALUE,
      });
    });

    t.test('a key group counts from 0', async (t) => {
      const visits = space('visits', fieldsOf('visits NUMBER'));
      await Promise.all(Array.from({ length: 10 }, () => visits.setKeys({ visits: { $inc: 1 } })));
      t.match((await visits.getKeys()).body, { visits: 10 });
    });

    t.test('of many that ask for a matching record each changes another, while there are any', async (t) => {
      const jobs = space('jobs', fieldsOf('state TEXT, by NUMBER'));
      await jobs.insert([{ state: 'free' }, { state: 'free' }]);
      const take = (by: number) => jobs.updateOne([['state', 'free']], { state: 'taken', by });
      const answers = await Promise.all([1, 2, 3, 4, 5].map(take));
      const taken = answers.filter(({ body }) => body !== null).map(({ body }) => body.id);
      t.equal(taken.length, 2);
      t.equal(new Set(taken).size, 2);
    });
  });
}
