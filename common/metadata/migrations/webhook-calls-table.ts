import type { Migration } from '../migrate.ts';

const timestamp = `DateTime64(3, 'UTC')`;
const once = (type: string): string => `SimpleAggregateFunction(max, ${type})`;
const newest = (type: string): string => `SimpleAggregateFunction(anyLast, ${type})`;
/** A content is needed for a day of attempts, and for sending it again. */
const contentDays = 3;
const days = 9;

/**
 * Deliveries of webhooks (events/delivery-table.ts). A delivery is a row, and each attempt adds one with what it changed:
 * merges join them, so what is written once is never written again. What a row leaves out is empty, and the greater value
 * of the others stays. `content` is the body of the calls, and '~' after it was dropped: bodies begin with '{'.
 */
export const webhookCallsTable: Migration = {
  version: 25,
  name: 'webhook_calls',
  statements: (database, topology) => {
    const table = `${database}.webhook_calls`;
    const text = once('String');
    return [
      `CREATE TABLE IF NOT EXISTS ${table}${topology.onCluster} (owner_id String, id String, created_at ${timestamp},
        space_id ${text}, event ${text}, project ${text}, space ${text}, url ${text},
        record_ids ${once('Array(String)')}, bytes ${once('UInt64')},
        process ${newest('String')}, state ${newest('LowCardinality(String)')}, attempts ${newest('UInt32')},
        status ${newest('UInt16')}, problem ${newest('String')}, updated_at ${newest(timestamp)},
        next_at ${newest(timestamp)}, expires_at ${newest(timestamp)},
        content ${text} TTL toDateTime(created_at) + INTERVAL ${contentDays} DAY)
        ENGINE = ${topology.metadataEngine(table, 'AggregatingMergeTree')}
        PARTITION BY toDate(created_at) ORDER BY (owner_id, id) TTL toDateTime(created_at) + INTERVAL ${days} DAY
        SETTINGS ttl_only_drop_parts = 1, index_granularity = 1024, index_granularity_bytes = 1048576,
          enable_vertical_merge_algorithm = 0, fsync_after_insert = 1, fsync_part_directory = 1`,
      // what is over is still listed; what waits is taken over by the process that sends it (events/old-deliveries.ts)
      `INSERT INTO ${table} (owner_id, id, created_at, space_id, event, project, space, url, record_ids,
          process, state, attempts, status, problem, updated_at, next_at, expires_at, content)
        SELECT owner_id, id, created_at, space_id, event, project, space, url,
          JSONExtract(body, 'recordIds', 'Array(String)'),
          process, state, attempts, status, problem, updated_at, next_at, expires_at, '~'
        FROM ${database}.webhook_deliveries FINAL WHERE state IN ('delivered', 'failed')
        SETTINGS max_block_size = 64, max_threads = 1`,
    ];
  },
};
