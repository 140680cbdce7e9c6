import type { Migration } from '../migrate.ts';

/**
 * A part that a merge makes is synced before the parts that it replaces are removed. chDB removes them within minutes
 * (its `old_parts_lifetime` is 0), so without this a power cut could lose rows that were acknowledged.
 * https://clickhouse.com/docs/operations/settings/merge-tree-settings#min_rows_to_fsync_after_merge
 */
export const syncedMerges = (tables: readonly string[]): Migration => ({
  version: 106,
  name: 'synced merges',
  statements: (database) =>
    tables.map(
      (table) => `ALTER TABLE ${database}.${table} MODIFY SETTING min_rows_to_fsync_after_merge = 1`,
    ),
});
