import type { Database } from '../../common/clickhouse/database.ts';
import { topologyOf } from '../../common/clickhouse/topology.ts';
import { recordTable } from './record-table.ts';
import type { SpaceCatalogue } from './space-catalogue.ts';

/** Deletes all records of one space. */
export async function clearSpace(db: Database, table: string, signal: AbortSignal): Promise<void> {
  const { rowsEverywhere } = topologyOf(db);
  await db.command(`TRUNCATE TABLE IF EXISTS ${rowsEverywhere(table)}`, signal, undefined, table);
}

/** Deletes all records of all spaces of a project (`clear-all-spaces: true`). */
export async function clearProject(
  { db, database, catalogue }: { db: Database; database: string; catalogue: SpaceCatalogue },
  projectId: string,
  signal: AbortSignal,
): Promise<void> {
  for (const id of await catalogue.idsOfProject(projectId, signal)) {
    await clearSpace(db, recordTable(database, id), signal);
  }
}
