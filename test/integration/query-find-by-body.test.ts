/** find and findOne with their conditions in the body, for queries too long for an address. */
import t from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t, { singleWriter: true });
const structure = structureOf('p', 'people', fieldsOf('name TEXT, age NUMBER, tags ARRAY'));
const people = spaceOf(harness, 'p', 'people', structure);
await people.insert([
  { name: 'Ada', age: 36, tags: ['a'] },
  { name: 'Bob', age: 36 },
  { name: '36', age: 1 },
]);

const ways = [
  ['QUERY', ''],
  ['POST', '/_find_'],
] as const;

for (const [method, end] of ways) {
  t.test(`find by the body of ${method}`, async (t) => {
    const find = async (body: unknown, options?: object) => {
      const headers = options === undefined ? {} : { options: JSON.stringify(options) };
      return harness.call({ method, path: `/p/people${end}`, structure, body, headers });
    };
    const names = async (body: unknown, options?: object) =>
      ((await find(body, options)).body as { name: string }[]).map(({ name }) => name);
    t.strictSame(await names({ age: 36, name: 'Ada' }), ['Ada']);
    t.strictSame(await names({ age: '36' }), ['Ada', 'Bob'], 'text as a query has it');
    t.strictSame(await names({ tags: ['a'] }), ['Ada']);
    t.strictSame(await names({}), ['Ada', 'Bob', '36']);
    const either = { paramRelationship: 'Or' };
    t.strictSame(
      await names(
        [
          ['name', 'Bob'],
          ['name', '36'],
        ],
        either,
      ),
      ['Bob', '36'],
      'a field may come again',
    );
    t.match(await find({ nothing: 1 }), { status: 400, code: 'invalid_condition' });
    t.match(await find({ age: 'old' }), { status: 400, code: 'invalid_condition' });
    for (const bad of ['[1]', '[["age"]]', '[[1,2]]', '7', 'null', '"text"', '{', '']) {
      t.match(await find(bad), { status: 400, code: 'invalid_body' }, bad);
    }
  });

  t.test(`findOne by the body of ${method}`, async (t) => {
    const path = `/p/people/_single_${end}`;
    t.match(await harness.call({ method, path, structure, body: { name: 'Bob' } }), {
      status: 200,
      body: { age: 36 },
    });
    t.equal((await harness.call({ method, path, structure, body: { name: 'Eve' } })).body, null);
  });
}

t.test('a query and a body that look alike are different requests', async (t) => {
  const field = '[["age","36"]]';
  const odd = structureOf('p', 'odd', [
    { name: 'age', type: 'NUMBER' },
    { name: field, slug: 'odd', type: 'TEXT' },
  ]);
  const space = spaceOf(harness, 'p', 'odd', odd);
  await space.insertOne({ age: 36, [field]: 'x' });
  t.strictSame((await space.find([[field, '']])).body, []);
  const { body } = await harness.call({
    method: 'QUERY',
    path: '/p/odd',
    structure: odd,
    body: [['age', '36']],
  });
  t.equal((body as unknown[]).length, 1);
});
