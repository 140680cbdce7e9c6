import type { Database } from '../../common/clickhouse/database.ts';
import type { BeginWrite } from '../records/begin-write.ts';
import type { RecordsTable } from '../sql/records-table.ts';
import type { SpaceCatalogue } from './space-catalogue.ts';

export interface ClearDeps {
  readonly db: Database;
  readonly table: RecordsTable;
  readonly beginWrite: BeginWrite;
}

/** Deletes all records of one space: one statement, however many there are. */
export async function clearSpace(
  { db, table, beginWrite }: ClearDeps,
  { id }: { readonly id: string },
  signal: AbortSignal,
): Promise<void> {
  const end = beginWrite(id, null);
  try {
    await db.command({ ...table.clear(id), signal });
  } finally {
    // also when nobody knows whether it was done
    await end();
  }
}

/** Deletes all records of all spaces of a project (`clear-all-spaces: true`). */
export async function clearProject(
  deps: ClearDeps & { readonly catalogue: SpaceCatalogue },
  projectId: string,
  signal: AbortSignal,
): Promise<void> {
  for (const id of await deps.catalogue.idsOfProject(projectId, signal)) {
    await clearSpace(deps, { id }, signal);
  }
}
