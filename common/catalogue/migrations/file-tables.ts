import type { Migration } from '../migrate.ts';
import { durable, timestamp, updatable } from './table-parts.ts';

/**
 * Rows of files arrive in small batches. The engine merges a small table at five parts, which rewrites most of it each
 * time; merging at fifteen takes a third less CPU (docs/decisions/009-rows-of-small-files.md).
 */
const moreParts = 'merge_selector_base = 15';

/**
 * Files by name, with an index of their SHA-256, and files in the order of an account's list. A file of the list exists
 * only if `cloud_files` has it; merges remove duplicate rows. Files are deleted by lightweight updates, because a
 * mutation waits for merges: seconds with a million files.
 */
export const fileTables: Migration = {
  version: 101,
  name: 'files',
  statements: (database, layout) => {
    const [files, list] = [`${database}.cloud_files`, `${database}.file_list`];
    return [
      `CREATE TABLE IF NOT EXISTS ${files} (
        id String, name String, original_name String, owner_id String, project_slug String, object_key String,
        content_type String, size UInt64, crc32 UInt32,
        created_at ${timestamp}, updated_at ${timestamp}, sha256 String,
        INDEX sha256 sha256 TYPE bloom_filter(0.01) GRANULARITY 1
      ) ENGINE = ${layout.engine(files, 'MergeTree')} ORDER BY name SETTINGS ${updatable}, ${moreParts}, ${durable}`,
      `CREATE TABLE IF NOT EXISTS ${list} (owner_id String, project_slug String, created_at ${timestamp}, id String,
        name String, original_name String, content_type String)
        ENGINE = ${layout.engine(list, 'ReplacingMergeTree')} ORDER BY (owner_id, project_slug, created_at, id)
        SETTINGS index_granularity = 1024, ${updatable}, ${moreParts}, ${durable}`,
    ];
  },
};
