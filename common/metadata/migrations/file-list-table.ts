import { fileListColumns } from '../file-list.ts';
import type { Migration } from '../migrate.ts';

const timestamp = `DateTime64(3, 'UTC')`;
const columns = `(owner_id String, project_slug String, created_at ${timestamp}, id String, name String,
  original_name String, content_type String)`;

/** What lightweight updates need. */
const updatable = 'enable_block_number_column = 1, enable_block_offset_column = 1';

/**
 * Files in the order in which an account lists them. `cloud_files` is ordered by name, so a list of one project read the
 * rows of all accounts there. A file that is here is stored only when `cloud_files` has it; rows that are here twice
 * become one. From here on files are deleted by lightweight updates, since a mutation waits for merges: seconds, with a
 * million files.
 */
export const fileListTable: Migration = {
  version: 22,
  name: 'lists of files',
  statements: (database, topology) => {
    const files = `${database}.cloud_files`;
    const list = `${database}.file_list`;
    const over = topology.distributedEngine(list, 'cityHash64(name)');
    const names = fileListColumns.join(', ');
    return [
      `CREATE TABLE IF NOT EXISTS ${topology.rowsEverywhere(list)} ${columns}
      ENGINE = ${topology.rowsEngine(list, 'ReplacingMergeTree')}
      ORDER BY (owner_id, project_slug, created_at, id)
      SETTINGS index_granularity = 1024, ${updatable}, merge_selector_base = 15, fsync_after_insert = 1, fsync_part_directory = 1`,
      ...(over === null
        ? []
        : [`CREATE TABLE IF NOT EXISTS ${list}${topology.onCluster} ${columns} ENGINE = ${over}`]),
      `INSERT INTO ${list} (${names}) SELECT ${names} FROM ${files}`,
      `ALTER TABLE ${topology.rowsEverywhere(files)} MODIFY SETTING ${updatable}`,
    ];
  },
};
