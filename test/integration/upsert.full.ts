/** Inserts that change, or skip, what is stored: where a process has its store for itself and where it has not. */
import t from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import type { FieldInput } from '../services/record-client.ts';

const fields: FieldInput[] = [
  { name: 'email', type: 'TEXT', unique: true },
  { name: 'code', type: 'NUMBER', unique: true },
  { name: 'age', type: 'NUMBER' },
  { name: 'name', type: 'TEXT', defaultValue: 'nobody' },
  { name: 'secret', type: 'TEXT', hashed: true },
];
const options = (value: unknown): Record<string, string> => ({ options: JSON.stringify(value) });
const update = options({ onConflict: { field: 'email', do: 'update' } });
const skip = options({ onConflict: { field: 'email', do: 'skip' } });

for (const singleWriter of [true, false]) {
  t.test(singleWriter ? 'the only process of a store' : 'one of several processes', async (t) => {
    const harness = await queryHarnessFor(t, { singleWriter });
    const space = (slug: string, more: object = {}) => spaceOf(harness, 'p', slug, fields, more);

    t.test('of 100 at once with one value one makes the record, and the others change it', async (t) => {
      const people = space('people');
      const one = (_: unknown, age: number) =>
        people.insertOne({ email: 'a@x', age }, age % 4 === 0 ? skip : update);
      const answers = await Promise.all(Array.from({ length: 100 }, one));
      t.ok(answers.every(({ status }) => status === 200));
      const [record, ...others] = (await people.find()).body;
      t.strictSame(others, []);
      t.ok(answers.every(({ body }) => body.id === record.id));
    });

    t.test('what the body leaves out stays, and null clears', async (t) => {
      const people = space('fields');
      const made = (await people.insertOne({ email: 'a@x', age: 1, name: 'Ada', code: 7 }, update)).body;
      t.match(made, { age: 1, name: 'Ada' });
      const { body } = await people.insertOne({ email: 'a@x', age: 2, secret: 's', code: null }, update);
      t.match(body, { id: made.id, age: 2, name: 'Ada', code: null, createdAt: made.createdAt });
      t.equal((await people.find('email=a@x&secret=s')).body.length, 1);
      t.strictSame((await people.insertOne({ email: 'a@x', age: 3 }, skip)).body, body);
      t.strictSame((await people.insertOne({ email: 'a@x' }, update)).body, body);
      t.match((await people.insertOne({ email: 'a@x', age: 3 })).code, 'not_unique');
      await people.insertOne({ age: 9 }, update);
      await people.insertOne({ age: 9 }, update);
      t.equal(
        (await people.find('age=9')).body.length,
        2,
        'without a value there is nothing to be in conflict with',
      );
    });

    t.test('an array is answered in its order', async (t) => {
      const people = space('arrays');
      const many = Array.from({ length: 150 }, (_, age) => ({ email: `${age}@x`, age }));
      const ids = (await people.insert(many.filter(({ age }) => age % 3 === 0))).body.map(
        ({ id }: { id: string }) => id,
      );
      const next = many.map((one) => ({ ...one, age: one.age + 1000 }));
      const { body } = await people.insert(next, update);
      t.strictSame(
        body.map(({ age }: { age: number }) => age),
        next.map(({ age }) => age),
      );
      t.strictSame(
        body.filter((_: unknown, at: number) => at % 3 === 0).map(({ id }: { id: string }) => id),
        ids,
      );
      t.equal((await people.find()).body.length, 150);
      const skipped = (await people.insert([...many, { email: 'new@x', age: 1 }], skip)).body;
      t.strictSame(skipped.slice(0, 150), body);
      t.equal((await people.find()).body.length, 151);
    });

    t.test('nothing is stored of a request that is refused', async (t) => {
      const people = space('refused');
      const [ada] = (
        await people.insert([
          { email: 'a@x', code: 1, age: 1 },
          { email: 'b@x', code: 2 },
        ])
      ).body;
      const before = (await people.find()).body;
      const refused: readonly (readonly [unknown, string])[] = [
        [
          [
            { email: 'c@x', code: 2 },
            { email: 'a@x', age: 5 },
          ],
          'not_unique',
        ],
        [[{ email: 'c@x' }, { email: 'c@x' }], 'not_unique'],
        [
          [
            { email: 'a@x', age: 5 },
            { email: 'c@x', age: 'x' },
          ],
          'invalid_value',
        ],
        [[{ email: 'a@x', age: { $inc: 1 } }], 'invalid_value'],
        [[], 'invalid_body'],
      ];
      for (const [body, code] of refused)
        t.match(await people.insert(body, update), { status: 400, code }, JSON.stringify(body));
      t.match(await people.insertOne({ email: 'a@x', code: 2 }, update), { status: 400, code: 'not_unique' });
      const wrong = [
        1,
        'email',
        [],
        {},
        { field: 'email' },
        { do: 'update' },
        { field: 'age', do: 'update' },
      ];
      const others = [
        { field: 'none', do: 'skip' },
        { field: 'email', do: 'replace' },
        { field: 1, do: 'skip' },
      ];
      for (const onConflict of [...wrong, ...others, { field: 'email', do: 'skip', where: 1 }])
        t.match(
          await people.insertOne({ email: 'c@x' }, options({ onConflict })),
          { status: 400, code: 'invalid_options' },
          JSON.stringify(onConflict),
        );
      t.match(
        (await people.insertOne({ email: 'c@x' }, { options: '{"onConflict"' })).code,
        'invalid_options',
      );
      t.strictSame((await people.find()).body, before);
      t.match((await people.insertOne({ email: 'a@x', code: 1, age: 6 }, update)).body, {
        id: ada.id,
        age: 6,
      });
    });

    t.test('another account is no conflict', async (t) => {
      const call = {
        call: (one: Parameters<typeof harness.call>[0]) => harness.call({ ...one, owner: 'other' }),
      };
      await space('apart').insertOne({ email: 'a@x', age: 1 });
      const other = spaceOf(call, 'p', 'apart', fields);
      t.match((await other.insertOne({ email: 'a@x', age: 2 }, update)).body, { age: 2 });
      t.match((await space('apart').find()).body, [{ age: 1 }]);
    });

    t.test('an insert does not change, or show, records that need a login for that', async (t) => {
      await space('users').insertOne({ email: 'user@x' });
      const rule = (scope: string) => ({ authOptions: { active: true, space: 'users', scope: [scope] } });
      for (const [scope, refused, allowed] of [
        ['update', update, skip],
        ['find', skip, update],
      ] as const) {
        const guarded = space(`guarded-${scope}`, rule(scope));
        t.equal((await guarded.insertOne({ email: 'a@x', age: 1 })).status, 200);
        t.equal((await guarded.insertOne({ email: 'a@x', age: 2 }, refused)).status, 401);
        t.equal((await guarded.insertOne({ email: 'a@x', age: 3 }, allowed)).status, 200);
      }
    });
  });
}
