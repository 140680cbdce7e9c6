/** A large insert is a statement: its records can be found, and changed, before it has ended. */
import t from 'tap';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import type { RowChange } from '#records/store/row-change.ts';
import { readAtOnce } from '../services/live-stores.ts';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';
import { until } from '../services/worker-pids.ts';

/** Called when a large insert is done, before its statement ends. */
let onInserted: () => Promise<void> = async () => {};
const harness = await queryHarnessFor(t, {
  singleWriter: true,
  wrap: (db) => ({
    ...db,
    async insert(statement) {
      await db.insert(statement);
      // not a small one that the log brings into the table
      if (statement.lines.byteLength > 10_000) await onInserted();
    },
  }),
});
const space = spaceOf(harness, 'p', 'large', fieldsOf('n NUMBER'));

t.test('a change that overtakes its insert is told once, and the older state never after it', async (t) => {
  await space.insert([{ n: -1 }]);
  const told: RowChange[] = [];
  const spaceId = uuidV5('owner', 'p', 'large');
  const stop = await harness.store.listen(
    spaceId,
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
  let isInserted = false;
  onInserted = async () => {
    isInserted = true;
    onInserted = async () => {};
    await held;
  };
  const inserting = space.insert(Array.from({ length: 500 }, (_, n) => ({ n })));
  await until(async () => isInserted);
  const [first, second, third] = (await space.find('n[in]=1&n[in]=2&n[in]=3')).body as { id: string }[];
  const ids = [first, second, third].map((record) => record?.id ?? '');
  await space.updateOneById(ids[0] as string, { n: 1000 });
  await space.deleteOneById(ids[1] as string);
  await harness.call({
    path: `${space.path}/_update_`,
    body: { where: { id: ids[2] }, set: { n: 3000 } },
    structure: space.structure,
  });
  release();
  t.equal((await inserting).status, 200);
  const last = new Map(told.map(({ id, after }) => [id, after]));
  t.equal(last.size, 500);
  const slots = ids.map((id) => Object.values(last.get(id)?._doc ?? {}));
  t.strictSame(slots, [['1000'], [], ['3000']]);
  stop();
});
