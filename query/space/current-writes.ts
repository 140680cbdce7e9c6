import { overloaded } from '#kernel/errors/catalogue.ts';
import type { RecordWrites } from '#records/store/record-store.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { Spaces } from './spaces.ts';

/**
 * Refuses writes by an outdated structure, for a store that several processes write to. After a request came, another
 * process may begin to change types of the space's fields (type-changes.ts). It copies the values once no process uses the
 * older structure. So every value is copied whose structure is still current after the write; any other write is not
 * acknowledged.
 */
export function currentWrites(
  writes: RecordWrites,
  spaces: Pick<Spaces, 'find' | 'assertInPlace'>,
): RecordWrites {
  const whileCurrent = async <Result>(
    space: RecordSpace,
    signal: AbortSignal,
    write: () => Promise<Result>,
  ): Promise<Result> => {
    // checked before as well: a write that is refused afterwards leaves a record without the value
    await check(space, signal);
    const result = await write();
    await spaces.assertInPlace(space, signal);
    await check(space, signal);
    return result;
  };

  const check = async (space: RecordSpace, signal: AbortSignal): Promise<void> => {
    const now = await spaces.find(space.catalogueId, signal);
    if (now !== null && now.id === space.id && !hasItsSlots(space, now)) {
      throw overloaded('the type of a field of the record space is being changed');
    }
  };

  const whileInPlace = async <Result>(
    space: RecordSpace,
    signal: AbortSignal,
    write: () => Promise<Result>,
  ): Promise<Result> => {
    const result = await write();
    await spaces.assertInPlace(space, signal);
    return result;
  };

  return {
    insert: (rows) => whileCurrent(rows.space, rows.signal, () => writes.insert(rows)),
    change: (change) =>
      // removals name no slots
      change.steps.every(({ assignments }) => assignments === null)
        ? whileInPlace(change.space, change.signal, () => writes.change(change))
        : whileCurrent(change.space, change.signal, () => writes.change(change)),
  };
}

/** Whether the fields of the space still have the same slots. Dropped fields are ignored. */
function hasItsSlots({ stored, structure }: RecordSpace, { stored: now }: RecordSpace): boolean {
  if (now === stored) return true;
  if (now.typeChange !== null) return false;
  const slots = new Map(now.fields.map(({ slug, slot }) => [slug, slot]));
  return structure.fields.every(({ slug, slot }) => (slots.get(slug) ?? slot) === slot);
}
