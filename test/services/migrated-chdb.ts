import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { migrate } from '#catalogue/migrate.ts';
import { migrations } from '#catalogue/migrations.ts';
import type { Database } from '#engine/database.ts';
import { openChdb } from '#engine/open-chdb.ts';
import { temporaryFolder } from './temporary-folder.ts';

let engine: Promise<Database> | undefined;
let databases = 0;

/** One engine for all tests of a file: a process can have no second one beside it. */
async function openEngine(): Promise<Database> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-chdb-'));
  const db = openChdb({ path: join(folder, 'chdb') });
  t.teardown(async () => {
    engine = undefined;
    databases = 0;
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  return db;
}

/** The embedded engine with our tables in a database of this test, and a folder that has room for more and ends with it. */
export async function openMigratedChdb(
  t: Pick<Test, 'teardown'>,
): Promise<{ readonly db: Database; readonly folder: string; readonly database: string }> {
  engine ??= openEngine();
  const db = await engine;
  const folder = await temporaryFolder(t);
  const database = databases++ === 0 ? 'sluice' : `sluice_${databases}`;
  await migrate(db, database, migrations);
  return { db, folder, database };
}
