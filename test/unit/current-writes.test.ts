/** Writes while another process changes the types of the space's fields. */
import t from 'tap';
import { currentWrites } from '#query/space/current-writes.ts';
import type { RecordWrites } from '#records/store/record-store.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { createStructure } from '#records/structure/structure.ts';
import { spaceWith, storedStructure } from '../services/stored-structure.ts';

const { signal } = new AbortController();
const before = storedStructure([{ name: 'a', type: 'TEXT' }]);
const changing = createStructure({ ...before, typeChange: 'change' });
const after = createStructure({
  ...before,
  fields: before.fields.map((field) => ({ ...field, type: 'NUMBER', slot: 'n0' })),
});
const space = spaceWith(before);
const refused = { status: 503, code: 'overloaded' };

/** @param found what the catalogue has at each look */
function open(...found: (RecordSpace | null)[]) {
  let written = 0;
  const invalidated = Promise.resolve();
  const writes = {
    insert: async () => ({ invalidated, count: ++written }),
    change: async () => ({ rows: [], invalidated, count: ++written }),
  } satisfies RecordWrites;
  const current = currentWrites(writes, {
    find: async () => found.shift() ?? null,
    async assertInPlace() {},
  });
  return {
    written: () => written,
    insert: () => current.insert({ space, records: [], unique: [], signal, permit: null }),
    update: () =>
      current.change({
        space,
        steps: [{ id: '1', assignments: [{ slot: 't0', value: 'x' }] }],
        signal,
        permit: null,
      }),
  };
}

for (const write of ['insert', 'update'] as const) {
  t.test(`an ${write} is acknowledged only by a structure that still counts afterwards`, async (t) => {
    const same = open(space, spaceWith(before));
    await same[write]();
    t.equal(same.written(), 1);
    for (const structure of [changing, after]) {
      const began = open(space, spaceWith(structure));
      await t.rejects(began[write](), refused, 'the values may have been copied without this one');
      const late = open(spaceWith(structure));
      await t.rejects(late[write](), refused);
      t.equal(late.written(), 0, 'what is known to be in vain does not begin');
    }
  });
}

t.test('a space that was dropped, or made anew, is another one', async (t) => {
  const other = open(null, spaceWith(after, { id: 'made anew' }));
  await other.insert();
  t.equal(other.written(), 1);
});
