import type { Migration } from '../migrate.ts';
import { durable, timestamp } from './table-parts.ts';

const once = (type: string): string => `SimpleAggregateFunction(max, ${type})`;
const newest = (type: string): string => `SimpleAggregateFunction(anyLast, ${type})`;
/** A content is needed for a day of attempts, and for sending it again. */
const contentDays = 3;
const days = 9;

/** Deliveries of webhooks, each with its outcome, and the processes that send any (events/). */
export const webhookTables: readonly Migration[] = [
  {
    version: 13,
    name: 'webhooks',
    statements: (database, layout) => {
      const deliveries = `${database}.webhook_deliveries`;
      const processes = `${database}.webhook_processes`;
      return [
        `CREATE TABLE IF NOT EXISTS ${deliveries} (owner_id String, id String, process String,
          space_id String, event LowCardinality(String), project String, space String, url String, body String,
          state LowCardinality(String), attempts UInt32, status UInt16, problem String,
          created_at ${timestamp}, updated_at ${timestamp}, next_at ${timestamp}, expires_at ${timestamp}, version UInt64)
          ENGINE = ${layout.engine(deliveries, 'ReplacingMergeTree(version)')} ORDER BY (owner_id, id)
          TTL toDateTime(expires_at) + INTERVAL 7 DAY SETTINGS ${durable}`,
        `CREATE TABLE IF NOT EXISTS ${processes} (process String, alive_at ${timestamp})
          ENGINE = ${layout.engine(processes, 'ReplacingMergeTree(alive_at)')} ORDER BY process
          TTL toDateTime(alive_at) + INTERVAL 1 DAY`,
      ];
    },
  },
  {
    // a delivery is a row, and each attempt adds one with its changes (events/delivery-table.ts): merges join them, so
    // no value is written twice. A column that a row leaves out is empty, and the greater value of the others
    // stays. `content` is the body of the calls, and '~' after it was dropped: bodies begin with '{'
    version: 25,
    name: 'webhook_calls',
    statements: (database, layout) => {
      const table = `${database}.webhook_calls`;
      const text = once('String');
      return [
        `CREATE TABLE IF NOT EXISTS ${table} (owner_id String, id String, created_at ${timestamp},
          space_id ${text}, event ${text}, project ${text}, space ${text}, url ${text},
          record_ids ${once('Array(String)')}, bytes ${once('UInt64')},
          process ${newest('String')}, state ${newest('LowCardinality(String)')}, attempts ${newest('UInt32')},
          status ${newest('UInt16')}, problem ${newest('String')}, updated_at ${newest(timestamp)},
          next_at ${newest(timestamp)}, expires_at ${newest(timestamp)},
          content ${text} TTL toDateTime(created_at) + INTERVAL ${contentDays} DAY)
          ENGINE = ${layout.engine(table, 'AggregatingMergeTree')}
          PARTITION BY toDate(created_at) ORDER BY (owner_id, id) TTL toDateTime(created_at) + INTERVAL ${days} DAY
          SETTINGS ttl_only_drop_parts = 1, index_granularity = 1024, index_granularity_bytes = 1048576,
            enable_vertical_merge_algorithm = 0, ${durable}`,
        // ended ones are still listed; waiting ones are taken over by their sender (events/old-deliveries.ts)
        `INSERT INTO ${table} (owner_id, id, created_at, space_id, event, project, space, url, record_ids,
            process, state, attempts, status, problem, updated_at, next_at, expires_at, content)
          SELECT owner_id, id, created_at, space_id, event, project, space, url,
            JSONExtract(body, 'recordIds', 'Array(String)'),
            process, state, attempts, status, problem, updated_at, next_at, expires_at, '~'
          FROM ${database}.webhook_deliveries FINAL WHERE state IN ('delivered', 'failed')
          SETTINGS max_block_size = 64, max_threads = 1`,
      ];
    },
  },
];
