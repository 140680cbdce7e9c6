/** The records of a large insert are told at the moment when they can be found, and before they can change. */
import t from 'tap';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import type { RowChange } from '#records/store/row-change.ts';
import { readAtOnce } from '../services/live-stores.ts';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';

let onInsert: () => Promise<void> = async () => {};
const harness = await queryHarnessFor(t, {
  singleWriter: true,
  wrap: (db) => ({
    ...db,
    async insert(statement) {
      // not a small one that the log brings into the table
      if (statement.lines.byteLength > 10_000) await onInsert();
      await db.insert(statement);
    },
  }),
});
const space = spaceOf(harness, 'p', 'large', fieldsOf('n NUMBER'));

t.test('a large insert is told once, before its changes, and before the table has it', async (t) => {
  await space.insert([{ n: -1 }]);
  const told: RowChange[] = [];
  const stop = await harness.store.listen(
    uuidV5('owner', 'p', 'large'),
    {
      changed: (changes) => void told.push(...changes),
      exclusive: readAtOnce,
      reset: () => t.fail('nothing is unknown'),
    },
    AbortSignal.timeout(30_000),
  );
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  onInsert = () => held;
  const inserted = await space.insert(Array.from({ length: 500 }, (_, n) => ({ n })));
  t.equal(inserted.status, 200);
  t.equal(told.length, 500);
  t.ok(told.every(({ before, after }) => before === null && after !== null));
  const ids = (inserted.body as { id: string }[]).slice(1, 4).map(({ id }) => id) as [string, string, string];
  const changing = Promise.all([
    space.find('n[in]=1&n[in]=2&n[in]=3'),
    space.updateOneById(ids[0], { n: 1000 }),
    space.deleteOneById(ids[1]),
    harness.call({
      path: `${space.path}/_update_`,
      body: { where: { id: ids[2] }, set: { n: 3000 } },
      structure: space.structure,
    }),
  ]);
  release();
  t.strictSame(
    (await changing).map(({ status }) => status),
    [200, 200, 200, 200],
  );
  const last = new Map(told.map(({ id, after }) => [id, after]));
  t.equal(told.length, 503);
  t.equal(last.size, 500);
  t.strictSame(
    ids.map((id) => Object.values(last.get(id)?._doc ?? {})),
    [['1000'], [], ['3000']],
  );
  stop();
});
