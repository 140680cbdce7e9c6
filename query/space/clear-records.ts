import type { Database } from '../../common/clickhouse/database.ts';
import type { ReadWriteLock } from '../../common/limits/read-write-lock.ts';
import type { RewriteSpace } from '../records/rewrite-space.ts';
import type { RecordsTable } from '../sql/records-table.ts';
import type { SpaceCatalogue } from './space-catalogue.ts';

export interface ClearDeps {
  readonly db: Database;
  readonly table: RecordsTable;
  readonly rewrite: RewriteSpace;
  /** By space. */
  readonly lock: ReadWriteLock;
}

/** Deletes all records of one space, with nobody writing to it meanwhile. */
export function clearSpace(
  deps: ClearDeps,
  space: { readonly id: string },
  signal: AbortSignal,
): Promise<void> {
  return deps.lock.alone(space.id, () => deleteAll(deps, space, signal));
}

/** For who has the space's lock: one statement, however many records there are. */
export function deleteAll(
  { db, table, rewrite }: Omit<ClearDeps, 'lock'>,
  { id }: { readonly id: string },
  signal: AbortSignal,
): Promise<void> {
  return rewrite(id, async () => {
    await db.command({ ...table.clear(id), signal });
    await db.command({ ...table.clearKeys(id), signal });
  });
}

/** Deletes all records of all spaces of a project (`clear-all-spaces: true`). */
export async function clearProject(
  deps: ClearDeps & { readonly catalogue: SpaceCatalogue },
  projectId: string,
  signal: AbortSignal,
): Promise<void> {
  for (const { recordsId } of await deps.catalogue.idsOfProject(projectId, signal)) {
    await clearSpace(deps, { id: recordsId }, signal);
  }
}
