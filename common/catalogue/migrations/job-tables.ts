import type { Migration } from '../migrate.ts';
import { durable, timestamp } from './table-parts.ts';

/** Work that outlives its request, such as imports. The newest version of a job counts; `content` is its JSON. */
export const jobTables: Migration = {
  version: 104,
  name: 'jobs',
  statements: (database, layout) => {
    const jobs = `${database}.jobs`;
    return [
      `CREATE TABLE IF NOT EXISTS ${jobs} (owner_id String, id String, version UInt64, state LowCardinality(String),
          updated_at ${timestamp}, content String)
          ENGINE = ${layout.engine(jobs, 'ReplacingMergeTree(version)')} ORDER BY (owner_id, id)
          TTL toDateTime(updated_at) + INTERVAL 30 DAY SETTINGS ${durable}`,
    ];
  },
};
