/** GET /{project}/{space}/_count_: how many records match, in memory and by statements. */
import t from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';

const structure = structureOf(
  'p',
  'people',
  fieldsOf('name TEXT, age NUMBER, email TEXT unique, password TEXT hashed'),
);
const path = '/p/people/_count_';

for (const singleWriter of [true, false]) {
  t.test(singleWriter ? 'the store of one process' : 'the store of several processes', async (t) => {
    const harness = await queryHarnessFor(t, { singleWriter });
    const people = spaceOf(harness, 'p', 'people', structure);
    const count = async (query = '', headers: Record<string, string> = {}) => {
      const answer = await harness.call({ path, structure, query, headers });
      return answer.status === 200 ? answer.body : answer.problems;
    };
    t.strictSame(await count(), { count: 0 }, 'of a space that does not exist');
    t.equal(
      (await harness.call({ path, structure: '', headers: { 'use-pre-stored-structure': 'true' } })).status,
      404,
    );
    const { body } = await people.insert([
      { name: 'Ada', age: 36, email: 'ada@x', password: 'right' },
      { name: 'Bob', age: 45 },
      { name: 'Eve' },
    ]);
    const [{ id }] = body as [{ id: string }];
    t.strictSame(await count(), { count: 3 });
    t.strictSame(await count('name=Ada'), { count: 1 });
    t.strictSame(await count('age[gte]=1'), { count: 2 });
    t.strictSame(await count('email=ada@x'), { count: 1 }, 'by a key');
    t.strictSame(await count('name=Ada&age=45'), { count: 0 });
    t.strictSame(await count('name=Ada&age=45', { options: '{"paramRelationship":"Or"}' }), { count: 2 });
    t.strictSame(
      await count('', { options: '{"pagination":{"limit":1}}' }),
      { count: 3 },
      'pages do not matter',
    );
    t.strictSame(await count('name=Ada&password=right'), { count: 1 });
    t.strictSame(await count('name=Ada&password=wrong'), { count: 0 });
    t.match(await count('nothing=1&age=old'), [/'nothing'/, /'age'/]);
    t.strictSame(
      (await harness.call({ method: 'QUERY', path, structure, body: { age: { in: [36, 45] } } })).body,
      { count: 2 },
      'conditions in a body',
    );
    // what was changed and deleted counts once, and not
    await people.updateOneById(id, { age: 37 });
    t.strictSame(await count('age=36'), { count: 0 });
    t.strictSame(await count('age=37'), { count: 1 });
    t.strictSame(await count(), { count: 3 });
    await people.deleteOneById(id);
    t.strictSame(await count(), { count: 2 });
    for (let index = 0; index < 20; index++) {
      await people.insertOne({ name: 'Zoe' });
      t.strictSame(await count('name=Zoe'), { count: index + 1 }, 'right after an acknowledged write');
    }
    await people.clear();
    t.strictSame(await count(), { count: 0 });
  });
}

t.test('authOptions of find are asked', async (t) => {
  const harness = await queryHarnessFor(t);
  const authOptions = { active: true, space: 'users', scope: ['find'] };
  const guarded = structureOf('p', 'guarded', fieldsOf('a TEXT'), { authOptions });
  await spaceOf(harness, 'p', 'guarded', guarded).make();
  t.equal((await harness.call({ path: '/p/guarded/_count_', structure: guarded })).status, 401);
  const body = { values: { n: 'count' } };
  t.equal((await harness.call({ path: '/p/guarded/_aggregate_', structure: guarded, body })).status, 401);
});
