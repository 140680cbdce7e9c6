import type { Migration } from '../migrate.ts';
import { durable, timestamp, updatable } from './table-parts.ts';

const at = `at ${timestamp} DEFAULT now64(3)`;
const settings = `${updatable}, ${durable}, min_rows_to_fsync_after_merge = 1`;

/**
 * Which records name which files, with an index by names; and what follows when they no longer do
 * (docs/decisions/074-a-file-field.md). Times are those of the engine: processes' clocks may differ.
 */
export const fileUseTables: Migration = {
  version: 109,
  name: 'uses of files',
  statements: (database, layout) => {
    const [uses, drops] = [`${database}.file_uses`, `${database}.file_drops`];
    return [
      `CREATE TABLE IF NOT EXISTS ${uses} (
        owner_id String, project_slug String, space String, record String, name String, owns UInt8, ${at},
        INDEX name name TYPE bloom_filter(0.001) GRANULARITY 1
      ) ENGINE = ${layout.engine(uses, 'MergeTree')} ORDER BY (owner_id, project_slug, space, record, name)
        SETTINGS index_granularity = 1024, ${settings}`,
      `CREATE TABLE IF NOT EXISTS ${drops} (
        kind String, name String, owner_id String, project_slug String, space String, record String, token String, ${at}
      ) ENGINE = ${layout.engine(drops, 'MergeTree')} ORDER BY (kind, name, token)
        SETTINGS index_granularity = 1024, ${settings}`,
    ];
  },
};
