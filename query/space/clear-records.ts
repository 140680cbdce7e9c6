import type { RecordStore } from '../store/record-store.ts';
import type { SpaceCatalogue } from './space-catalogue.ts';

/** Deletes all records of one space, with nobody writing to it meanwhile. */
export function clearSpace(store: RecordStore, { id }: { readonly id: string }, signal: AbortSignal) {
  return store.rewrite(id, () => deleteAll(store, id, 'old', signal));
}

/**
 * For work that rewrites the space: one statement, however many records there are, and one for their keys.
 * @param keys `all`: nobody writes to the space any more
 */
export async function deleteAll(
  { db, table }: RecordStore,
  id: string,
  keys: 'all' | 'old',
  signal: AbortSignal,
): Promise<void> {
  await db.command({ ...table.clear(id), signal });
  await db.command({ ...table.clearKeys(id, keys), signal });
}

/** Deletes all records of all spaces of a project (`clear-all-spaces: true`). */
export async function clearProject(
  { store, catalogue }: { readonly store: RecordStore; readonly catalogue: SpaceCatalogue },
  projectId: string,
  signal: AbortSignal,
): Promise<void> {
  for (const { recordsId } of await catalogue.idsOfProject(projectId, signal)) {
    await clearSpace(store, { id: recordsId }, signal);
  }
}
