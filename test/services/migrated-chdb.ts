import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { openChdb } from '../../common/clickhouse/chdb-database.ts';
import type { Database } from '../../common/clickhouse/database.ts';
import { migrate } from '../../common/metadata/migrate.ts';
import { migrations } from '../../common/metadata/migrations.ts';

/** The embedded engine with the tables of the database `sluice`, in a folder that has room for more. Both end with the test. */
export async function openMigratedChdb(
  t: Pick<Test, 'teardown'>,
): Promise<{ readonly db: Database; readonly folder: string; readonly database: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-chdb-'));
  const db = openChdb({ path: join(folder, 'chdb') });
  t.teardown(async () => {
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  const database = 'sluice';
  await migrate(db, database, migrations);
  return { db, folder, database };
}
