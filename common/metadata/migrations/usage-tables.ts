import type { Migration } from '../migrate.ts';

/** INSERTs that one process may fall behind while another one repeats one of its own, and for how long. Seconds. */
const deduplicationWindow = 10_000;
const deduplicationTime = 7 * 24 * 3600;

/**
 * What accounts use, by day and project. Processes add rows, and the engine sums them up. An INSERT that is repeated
 * carries the token that it had before, and counts once.
 */
export const usageTables: Migration = {
  version: 21,
  name: 'usage',
  statements: (database, topology) => {
    const days = `${database}.usage_days`;
    const deduplication =
      topology.cluster === undefined
        ? `non_replicated_deduplication_window = ${deduplicationWindow}`
        : `replicated_deduplication_window = ${deduplicationWindow}, replicated_deduplication_window_seconds = ${deduplicationTime}`;
    return [
      `CREATE TABLE IF NOT EXISTS ${days}${topology.onCluster} (owner_id String, date Date, project String,
        request_count UInt64, bytes_in UInt64, file_count UInt64, bytes_stored UInt64, records_written UInt64)
        ENGINE = ${topology.metadataEngine(days, 'SummingMergeTree')} ORDER BY (owner_id, date, project)
        TTL date + INTERVAL 2 YEAR SETTINGS ${deduplication}`,
    ];
  },
};
