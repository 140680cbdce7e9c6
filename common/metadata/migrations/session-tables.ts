import type { Topology } from '../../clickhouse/topology.ts';
import type { Migration } from '../migrate.ts';

const timestamp = `DateTime64(3, 'UTC')`;
const durable = 'fsync_after_insert = 1, fsync_part_directory = 1';
/** INSERTs that one process may fall behind while another one stores the same version of an account. */
const deduplicationWindow = 10_000;
const deduplicationTime = 7 * 24 * 3600;

function deduplication({ cluster }: Topology): string {
  return cluster === undefined
    ? `non_replicated_deduplication_window = ${deduplicationWindow}`
    : `replicated_deduplication_window = ${deduplicationWindow}, replicated_deduplication_window_seconds = ${deduplicationTime}`;
}

/**
 * Sessions of the dashboard, and the access tokens that its web app gets for a while. Both remove themselves. Versions of
 * an account are kept apart by tokens of their INSERTs, as those of record spaces are.
 */
export const sessionTables: Migration = {
  version: 20,
  name: 'sessions',
  statements: (database, topology) => {
    const { onCluster } = topology;
    const sessions = `${database}.console_sessions`;
    const tokens = `${database}.session_tokens`;
    return [
      `CREATE TABLE IF NOT EXISTS ${sessions}${onCluster} (hash String, user_id String, user_version UInt64,
        created_at ${timestamp}, used_at ${timestamp}, expires_at ${timestamp}, ended Bool, version UInt64)
        ENGINE = ${topology.metadataEngine(sessions, 'ReplacingMergeTree(version)')} ORDER BY hash
        TTL toDateTime(expires_at) + INTERVAL 1 DAY SETTINGS ${durable}`,
      `CREATE TABLE IF NOT EXISTS ${tokens}${onCluster} (hash String, session String,
        created_at ${timestamp}, expires_at ${timestamp})
        ENGINE = ${topology.metadataEngine(tokens, 'MergeTree')} ORDER BY hash
        TTL toDateTime(expires_at) + INTERVAL 1 HOUR`,
      `ALTER TABLE ${database}.users${onCluster} MODIFY SETTING ${deduplication(topology)}`,
    ];
  },
};
