/** What a write through the log drops of kept results: all that it may change, and nothing else. */
import t from 'tap';
import { ReadWriteLock } from '#kernel/limits/read-write-lock.ts';
import type { Conditions } from '#records/input/parse-conditions.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import { LoggedWrites } from '#records/store-embedded/logged-writes.ts';
import { ResultCache } from '#records/store-embedded/result-cache.ts';
import type { Field } from '#records/structure/field.ts';
import { loadResult } from '../services/load-result.ts';
import { spaceWith, storedStructure } from '../services/stored-structure.ts';

const { signal } = new AbortController();
const space = spaceWith(storedStructure([{ name: 'group', type: 'TEXT' }]));
const group = space.structure.lookup.get('group') as Field;
const time = '2026-01-01T00:00:00.000Z';
const before: StoredRow = { _id: '1', _created_at: time, _updated_at: time, _doc: { t0: 'a' } };
const equal = (target: Field | 'id', value: string): Conditions => ({
  relationship: 'And',
  plain: [{ target, value }],
  others: [],
  hashed: [],
});
const results: Readonly<Record<string, Conditions | null>> = {
  all: null,
  a: equal(group, 'a'),
  b: equal(group, 'b'),
  c: equal(group, 'c'),
  1: equal('id', '1'),
  2: equal('id', '2'),
};

/** Which of the results are still kept after a write to a space that holds `before`. */
async function keptAfter(write: (writes: LoggedWrites) => Promise<{ invalidated: Promise<void> | null }>) {
  const cache = new ResultCache(1024 ** 2);
  for (const [name, conditions] of Object.entries(results)) {
    await loadResult(cache, space, name, conditions, async () => Buffer.from(name));
  }
  const writes = new LoggedWrites({
    lock: new ReadWriteLock(),
    results: cache,
    listeners: new Map(),
    lookUp: async () => [before],
    pending: {
      settledBlocks: () => null,
      write: async (_: unknown, { seen }: { seen: () => void }) => seen(),
    },
  } as unknown as ConstructorParameters<typeof LoggedWrites>[0]);
  await (await write(writes)).invalidated;
  return Object.keys(results).filter((name) => cache.get(space, name) !== undefined);
}
const change = (value: string | null) => (writes: LoggedWrites) =>
  writes.change({
    space,
    steps: [{ id: '1', assignments: value === null ? null : [{ slot: 't0', value }] }],
    signal,
  });

t.test('an update drops results that match the values before, and those after', async (t) => {
  t.strictSame(await keptAfter(change('b')), ['2', 'c']);
});

t.test('a removal drops results that match the values before', async (t) => {
  t.strictSame(await keptAfter(change(null)), ['2', 'b', 'c']);
});

t.test('an insert drops results that one of its records matches', async (t) => {
  const record = (id: string, value: string) => ({ id, createdAt: time, values: [value] });
  const records = [record('3', 'b'), record('4', 'c')];
  const kept = await keptAfter((writes) =>
    writes.insert({ space, records, unique: [], signal, permit: null }),
  );
  t.strictSame(kept, ['1', '2', 'a']);
});
