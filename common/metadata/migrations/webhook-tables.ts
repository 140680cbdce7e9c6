import type { Migration } from '../migrate.ts';

const timestamp = `DateTime64(3, 'UTC')`;
const durable = 'fsync_after_insert = 1, fsync_part_directory = 1';

/** Deliveries of webhooks, each with what became of it, and which processes send any (events/). */
export const webhookTables: Migration = {
  version: 13,
  name: 'webhooks',
  statements: (database, topology) => {
    const deliveries = `${database}.webhook_deliveries`;
    const processes = `${database}.webhook_processes`;
    return [
      `CREATE TABLE IF NOT EXISTS ${deliveries}${topology.onCluster} (owner_id String, id String, process String,
        space_id String, event LowCardinality(String), project String, space String, url String, body String,
        state LowCardinality(String), attempts UInt32, status UInt16, problem String,
        created_at ${timestamp}, updated_at ${timestamp}, next_at ${timestamp}, expires_at ${timestamp}, version UInt64)
        ENGINE = ${topology.metadataEngine(deliveries, 'ReplacingMergeTree(version)')} ORDER BY (owner_id, id)
        TTL toDateTime(expires_at) + INTERVAL 7 DAY SETTINGS ${durable}`,
      `CREATE TABLE IF NOT EXISTS ${processes}${topology.onCluster} (process String, alive_at ${timestamp})
        ENGINE = ${topology.metadataEngine(processes, 'ReplacingMergeTree(alive_at)')} ORDER BY process
        TTL toDateTime(alive_at) + INTERVAL 1 DAY`,
    ];
  },
};
