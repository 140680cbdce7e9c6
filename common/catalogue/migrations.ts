import type { Migration } from './migrate.ts';
import { fileTables } from './migrations/file-tables.ts';
import { jobTables } from './migrations/job-tables.ts';
import { metadataTables } from './migrations/metadata-tables.ts';
import { recordTables } from './migrations/record-tables.ts';
import { webhookAddressTables } from './migrations/webhook-address-tables.ts';
import { webhookTables } from './migrations/webhook-tables.ts';

/** All migrations, oldest first. One that was released never changes: a later one mends it. */
export const migrations: readonly Migration[] = [
  metadataTables,
  fileTables,
  recordTables,
  webhookTables,
  jobTables,
  webhookAddressTables,
];
