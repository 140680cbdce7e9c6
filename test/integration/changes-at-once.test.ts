/** Unique values, and changes of one record at once, where a process has its store for itself and where it has not. */
import t from 'tap';
import { openQueryHarness, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, structureOf } from '../services/record-client.ts';

for (const alone of [true, false]) {
  t.test(alone ? 'the only process of a store' : 'one of several processes', async (t) => {
    const harness = await openQueryHarness({ alone });
    t.teardown(() => harness.close());
    const space = (slug: string, fields: readonly FieldInput[]) =>
      spaceOf(harness, 'p', slug, structureOf('p', slug, fields));
    const code = (unique: boolean): FieldInput[] => [{ name: 'code', type: 'NUMBER', unique }];
    const refused = { status: 400, code: 'not_unique' };

    t.test(
      'a value is refused that an insert or an update brought, and its own record may keep it',
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

    t.test(
      'of many that ask for a record that matches each changes another one, while there are any',
      async (t) => {
        const jobs = space('jobs', [
          { name: 'state', type: 'TEXT' },
          { name: 'by', type: 'NUMBER' },
        ]);
        await jobs.insert([{ state: 'free' }, { state: 'free' }]);
        const take = (by: number) => jobs.updateOne([['state', 'free']], { state: 'taken', by });
        const answers = await Promise.all([1, 2, 3, 4, 5].map(take));
        const taken = answers.filter(({ body }) => body !== null).map(({ body }) => body.id);
        t.equal(taken.length, 2);
        t.equal(new Set(taken).size, 2);
      },
    );
  });
}
