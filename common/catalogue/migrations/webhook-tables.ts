import type { Migration } from '../migrate.ts';
import { durable, timestamp } from './table-parts.ts';

const once = (type: string): string => `SimpleAggregateFunction(max, ${type})`;
const newest = (type: string): string => `SimpleAggregateFunction(anyLast, ${type})`;
/** The content is needed for a day of attempts, and for resending. */
const contentDays = 3;
const days = 9;

/**
 * Deliveries of webhooks with their outcomes, and the processes that send them (events/). A delivery is a row, and each
 * attempt adds a row with only its changes (events/delivery-table.ts), which merges combine: an omitted column is empty,
 * and the greatest value stays. `content` is the body of the calls, or '~' after it was dropped: bodies begin with '{'.
 */
export const webhookTables: Migration = {
  version: 103,
  name: 'webhooks',
  statements: (database, layout) => {
    const [calls, processes] = [`${database}.webhook_calls`, `${database}.webhook_processes`];
    const text = once('String');
    return [
      `CREATE TABLE IF NOT EXISTS ${calls} (owner_id String, id String, created_at ${timestamp},
        space_id ${text}, event ${text}, project ${text}, space ${text}, url ${text},
        record_ids ${once('Array(String)')}, bytes ${once('UInt64')},
        process ${newest('String')}, state ${newest('LowCardinality(String)')}, attempts ${newest('UInt32')},
        status ${newest('UInt16')}, problem ${newest('String')}, updated_at ${newest(timestamp)},
        next_at ${newest(timestamp)}, expires_at ${newest(timestamp)},
        content ${text} TTL toDateTime(created_at) + INTERVAL ${contentDays} DAY)
        ENGINE = ${layout.engine(calls, 'AggregatingMergeTree')}
        PARTITION BY toDate(created_at) ORDER BY (owner_id, id) TTL toDateTime(created_at) + INTERVAL ${days} DAY
        SETTINGS ttl_only_drop_parts = 1, index_granularity = 1024, index_granularity_bytes = 1048576,
          enable_vertical_merge_algorithm = 0, ${durable}`,
      `CREATE TABLE IF NOT EXISTS ${processes} (process String, alive_at ${timestamp})
        ENGINE = ${layout.engine(processes, 'ReplacingMergeTree(alive_at)')} ORDER BY process
        TTL toDateTime(alive_at) + INTERVAL 1 DAY`,
    ];
  },
};
