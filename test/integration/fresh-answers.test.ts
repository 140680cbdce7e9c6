/** What an answer held before a write is not answered after it, whatever the service keeps. */
import t from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';

/** Called before rows with the text `large` are stored by a statement. */
let onInsert: () => Promise<void> = async () => {};
const harness = await queryHarnessFor(t, {
  wrap: (db) => ({
    ...db,
    async insert(statement) {
      if (Buffer.from(statement.lines).includes('large')) await onInsert();
      return db.insert(statement);
    },
  }),
});
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

t.test('what was found while a large insert was under way is not answered after it', async (t) => {
  const many = space('many');
  await many.make();
  const amount = 300;
  let found: number[] = [];
  onInsert = async () => {
    const answers = await Promise.all([many.find(''), many.find('group=large')]);
    found = answers.map(({ body }) => body.length);
  };
  const rows = Array.from({ length: amount }, (_, n) => ({ group: 'large', n }));
  t.equal((await many.insert(rows)).status, 200);
  t.strictSame(found, [0, 0]);
  for (const query of ['', 'group=large']) t.equal((await many.find(query)).body.length, amount, query);
});
