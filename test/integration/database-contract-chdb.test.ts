/** The embedded engine as a `Database`. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { openChdb } from '../../common/clickhouse/chdb-database.ts';
import { databaseContract } from './database-contract.ts';

// the engine of a process has one directory at a time
const dataDir = await mkdtemp(join(tmpdir(), 'sluice-contract-'));
const db = openChdb({ path: join(dataDir, 'chdb') });
t.teardown(async () => {
  await db.close();
  await rm(dataDir, { recursive: true, force: true });
});

databaseContract(t, async () => {
  await db.command({ sql: 'DROP DATABASE IF EXISTS contract' });
  return db;
});
