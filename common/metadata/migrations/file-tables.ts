import { fileListColumns } from '../file-list.ts';
import type { Migration } from '../migrate.ts';
import { durable, timestamp, updatable } from './table-parts.ts';

const columns = `(owner_id String, project_slug String, created_at ${timestamp}, id String, name String,
  original_name String, content_type String)`;

/** Changes of cloud_files, which metadata-tables.ts makes. */
export const fileTables: readonly Migration[] = [
  {
    // files in the order in which an account lists them. `cloud_files` is ordered by name, so a list of one project read
    // the rows of all accounts there. A file that is here is stored only when `cloud_files` has it; rows that are here
    // twice become one. From here on files are deleted by lightweight updates, since a mutation waits for merges:
    // seconds, with a million files
    version: 22,
    name: 'lists of files',
    statements: (database, layout) => {
      const files = `${database}.cloud_files`;
      const list = `${database}.file_list`;
      const names = fileListColumns.join(', ');
      return [
        `CREATE TABLE IF NOT EXISTS ${list} ${columns}
          ENGINE = ${layout.engine(list, 'ReplacingMergeTree')} ORDER BY (owner_id, project_slug, created_at, id)
          SETTINGS index_granularity = 1024, ${updatable}, merge_selector_base = 15, ${durable}`,
        `INSERT INTO ${list} (${names}) SELECT ${names} FROM ${files}`,
        `ALTER TABLE ${files} MODIFY SETTING ${updatable}`,
      ];
    },
  },
  {
    // the SHA-256 of files, and an index that finds a file by it: among a million rows in a few granules
    version: 26,
    name: 'file_digests',
    statements: (database) => [
      `ALTER TABLE ${database}.cloud_files ADD COLUMN IF NOT EXISTS sha256 String,
        ADD INDEX IF NOT EXISTS sha256 sha256 TYPE bloom_filter(0.01) GRANULARITY 1`,
    ],
  },
];
