import type { Migration } from './migrate.ts';
import { cacheTables } from './migrations/cache-tables.ts';
import { fileDigests } from './migrations/file-digests.ts';
import { fileListTable } from './migrations/file-list-table.ts';
import { metadataTables } from './migrations/metadata-tables.ts';
import { recordBlocks } from './migrations/record-blocks.ts';
import { recordGranules } from './migrations/record-granules.ts';
import { recordTables } from './migrations/record-tables.ts';
import { sessionTables } from './migrations/session-tables.ts';
import { tokenLimits } from './migrations/token-limits.ts';
import { usageTables } from './migrations/usage-tables.ts';
import { webhookCallsTable } from './migrations/webhook-calls-table.ts';
import { webhookTables } from './migrations/webhook-tables.ts';

/** All migrations, oldest first. One that was released never changes: a later one mends it. */
export const migrations: readonly Migration[] = [
  metadataTables,
  recordTables,
  webhookTables,
  cacheTables,
  sessionTables,
  usageTables,
  fileListTable,
  recordBlocks,
  recordGranules,
  webhookCallsTable,
  fileDigests,
  tokenLimits,
];
