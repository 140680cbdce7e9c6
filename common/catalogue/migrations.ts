import type { Migration } from './migrate.ts';
import { fileMedia } from './migrations/file-media.ts';
import { fileOwners } from './migrations/file-owners.ts';
import { fileProofs } from './migrations/file-proofs.ts';
import { fileTables } from './migrations/file-tables.ts';
import { fileUseTables } from './migrations/file-use-tables.ts';
import { jobTables } from './migrations/job-tables.ts';
import { memberTables } from './migrations/member-tables.ts';
import { metadataTables } from './migrations/metadata-tables.ts';
import { oidcTables } from './migrations/oidc-tables.ts';
import { projectPresets } from './migrations/project-presets.ts';
import { recordParts } from './migrations/record-parts.ts';
import { recordTables } from './migrations/record-tables.ts';
import { syncedMerges } from './migrations/synced-merges.ts';
import { webhookAddressTables } from './migrations/webhook-address-tables.ts';
import { webhookTables } from './migrations/webhook-tables.ts';
import { wholeSlots } from './migrations/whole-slots.ts';

/** The tables whose inserts are synced, and the usage of accounts: a merge rewrites days that were written long ago. */
const durableTables = [
  'migrations',
  'users',
  'access_tokens',
  'projects',
  'record_spaces',
  'stores',
  'deployments',
  'signing_keys',
  'cache_outages',
  'console_sessions',
  'usage_days',
  'cloud_files',
  'file_list',
  'records',
  'record_keys',
  'webhook_calls',
  'jobs',
  'webhook_addresses',
];

/** All migrations, oldest first. A released migration never changes: a later one corrects it. */
export const migrations: readonly Migration[] = [
  metadataTables,
  fileTables,
  recordTables,
  webhookTables,
  jobTables,
  webhookAddressTables,
  syncedMerges(durableTables),
  wholeSlots,
  fileOwners,
  fileUseTables,
  memberTables,
  oidcTables,
  fileProofs,
  fileMedia,
  projectPresets,
  recordParts,
];
