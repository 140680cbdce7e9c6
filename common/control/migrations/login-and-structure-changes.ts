import type { Migration } from '../migrate.ts';

/** Spaces that may be made or changed while one process stalls between its look at the catalogue and its row. */
const deduplicationWindow = 10_000;
/** Seconds. Without replicas there is no limit of time. */
const deduplicationTime = 7 * 24 * 3600;

/** Keys that sign login tokens, and a catalogue of record spaces that two processes may change at once. */
export const loginAndStructureChanges: Migration = {
  version: 2,
  name: 'login and structure changes',
  statements: (database, { cluster, onCluster, controlEngine }) => [
    `CREATE TABLE IF NOT EXISTS ${database}.signing_keys${onCluster} (
      id String, secret String, created_at DateTime64(3, 'UTC')
    ) ENGINE = ${controlEngine(`${database}.signing_keys`, 'MergeTree')} ORDER BY id SETTINGS fsync_after_insert = 1, fsync_part_directory = 1`,
    // rows that a space begins with, kept beside the version of the catalogue that made it
    `ALTER TABLE ${database}.record_spaces ADD COLUMN IF NOT EXISTS initial_records String`,
    // the first of two INSERTs with the same insert_deduplication_token counts, the other one is dropped
    cluster === undefined
      ? `ALTER TABLE ${database}.record_spaces MODIFY SETTING non_replicated_deduplication_window = ${deduplicationWindow}`
      : // settings are each server's own, unlike columns
        `ALTER TABLE ${database}.record_spaces${onCluster} MODIFY SETTING replicated_deduplication_window = ${deduplicationWindow}, replicated_deduplication_window_seconds = ${deduplicationTime}`,
  ],
};
