/** What an answer held before a write is not answered after it, whatever the service keeps. */
import t from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t);
const space = (slug: string) => spaceOf(harness, 'p', slug, fieldsOf('group TEXT, n NUMBER'));

t.test('an update or a removal counts for who asked by the values before, and by those after', async (t) => {
  const people = space('people');
  const { id } = (await people.insertOne({ group: 'a', n: 1 })).body;
  const found = async () => {
    const lists = ['group=a', 'group=b', 'n=1', ''].map((query) => people.find(query));
    const firsts = ['group=a', 'group=b', `id=${id}`].map((query) => people.findOne(query));
    const answers = await Promise.all([...lists, ...firsts]);
    return answers.map(({ body }) => (Array.isArray(body) ? body.length : body === null ? 0 : 1)).join('');
  };
  t.equal(await found(), '1011101');
  t.equal(await found(), '1011101', 'from what is kept');
  await people.updateOneById(id, { group: 'b' });
  t.equal(await found(), '0111011');
  await people.updateOneById(id, { group: null });
  t.equal(await found(), '0011001');
  await people.updateOneById(id, { group: 'a', n: 2 });
  t.equal(await found(), '1001101');
  await people.deleteOneById(id);
  t.equal(await found(), '0000000');
});

t.test('what was found before a large insert, or beside it, is not answered after it', async (t) => {
  const many = space('many');
  await many.make();
  const queries = ['', 'group=large'];
  const found = async () => {
    const answers = await Promise.all(queries.map((query) => many.find(query)));
    return answers.map(({ body }) => body.length);
  };
  const rows = Array.from({ length: 300 }, (_, n) => ({ group: 'large', n }));
  t.strictSame(await found(), [0, 0]);
  for (const amount of [300, 600]) {
    const [inserted, ...beside] = await Promise.all([many.insert(rows), found(), found(), found()]);
    t.equal(inserted.status, 200);
    t.ok(
      beside.flat().every((count) => count === amount - 300 || count === amount),
      `${beside} of ${amount}`,
    );
    t.strictSame(await found(), [amount, amount]);
  }
});
