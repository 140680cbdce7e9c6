/** Which record an update means, and what it says where there is none. */
import t from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t);

function space(slug: string) {
  const fields = fieldsOf('email TEXT unique, age NUMBER');
  return spaceOf(harness, 'which', slug, fields);
}

t.test('a client that drops undefined conditions does not change the oldest record', async (t) => {
  const people = space('dropped');
  const { body: oldest } = await people.insertOne({ email: 'ada@x', age: 36 });
  for (const options of [undefined, { paramRelationship: 'Or' }, { sort: { by: 'age' } }]) {
    const answer = await people.updateOne('', { age: 1 }, options);
    t.match(answer, { status: 400, code: 'no_conditions', problems: [/^At least one condition/] });
  }
  t.strictSame((await people.findOne()).body, oldest);
});

t.test('an update of nobody with a taken value says that there is nobody', async (t) => {
  const people = space('nobody');
  await people.insert([{ email: 'ada@x' }, { email: 'bob@x' }]);
  const wanted = { status: 400, code: 'no_match' };
  t.match(await people.updateOneById('no-such-id', { email: 'ada@x' }), wanted);
  t.match(await people.updateOne('email=nobody@x', { email: 'ada@x' }), wanted);
  const bob = (await people.findOne('email=bob@x')).body;
  t.match(await people.updateOneById(bob.id, { email: 'ada@x' }), { status: 400, code: 'not_unique' });
});
