import type { Database } from '../../common/clickhouse/database.ts';
import { topologyOf } from '../../common/clickhouse/topology.ts';
import type { SpaceVersions } from '../records/space-versions.ts';
import { recordTable } from './record-table.ts';
import type { SpaceCatalogue } from './space-catalogue.ts';

interface ClearDeps {
  readonly db: Database;
  readonly versions: SpaceVersions;
}

/** Deletes all records of one space. @param table its table, quoted, with its database */
export async function clearSpace(
  { db, versions }: ClearDeps,
  { id, table }: { readonly id: string; readonly table: string },
  signal: AbortSignal,
): Promise<void> {
  const { rowsEverywhere } = topologyOf(db);
  try {
    await db.command(`TRUNCATE TABLE IF EXISTS ${rowsEverywhere(table)}`, signal, undefined, table);
  } finally {
    // also when nobody knows whether it was done
    await versions.change(id);
  }
}

/** Deletes all records of all spaces of a project (`clear-all-spaces: true`). */
export async function clearProject(
  deps: ClearDeps & { database: string; catalogue: SpaceCatalogue },
  projectId: string,
  signal: AbortSignal,
): Promise<void> {
  for (const id of await deps.catalogue.idsOfProject(projectId, signal)) {
    await clearSpace(deps, { id, table: recordTable(deps.database, id) }, signal);
  }
}
