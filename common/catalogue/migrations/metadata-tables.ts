import type { Migration } from '../migrate.ts';
import { deduplication, durable, timestamp } from './table-parts.ts';

/**
 * The tables of the service itself. A change writes the row again with a higher version, and reads use FINAL: rows are
 * few, and found by their key.
 */
export const metadataTables: Migration = {
  version: 100,
  name: 'metadata',
  statements: (database, layout) => {
    const table = (name: string, columns: string, engine: string, more: string): string =>
      `CREATE TABLE IF NOT EXISTS ${database}.${name} (${columns}) ENGINE = ${layout.engine(`${database}.${name}`, engine)} ${more}`;
    const times = `created_at ${timestamp}, updated_at ${timestamp}`;
    return [
      // two writers of one version of an account, or of a record space, are told apart by the tokens of their INSERTs
      table(
        'users',
        `id String, email String, name String, password_hash String, ${times}, version UInt64`,
        'ReplacingMergeTree(version)',
        `ORDER BY id SETTINGS ${deduplication(layout)}, ${durable}`,
      ),
      // the engine's limits for reads with the token (null: the defaults), and its grants as JSON (empty: everything)
      table(
        'access_tokens',
        `hash String, id String, user_id String, name String,
          expires_at Nullable(${timestamp}), revoked_at Nullable(${timestamp}),
          created_at ${timestamp}, version UInt64, sealed Bool DEFAULT false,
          read_max_rows Nullable(UInt64), read_timeout_ms Nullable(UInt32), grants String`,
        'ReplacingMergeTree(version)',
        `ORDER BY hash SETTINGS ${durable}`,
      ),
      // a separate table, so that recording a use can never undo a revocation
      table(
        'access_token_uses',
        `hash String, last_used_at ${timestamp}`,
        'ReplacingMergeTree(last_used_at)',
        'ORDER BY hash',
      ),
      table(
        'projects',
        `id String, owner_id String, slug String, created_at ${timestamp}, version UInt64`,
        'ReplacingMergeTree(version)',
        `ORDER BY id SETTINGS ${durable}`,
      ),
      // `store` holds the records. `left_records`: an id under which further records of the space may exist, while it moves
      // to another store or afterwards. `rules`: who may read and change which records, as JSON; empty: no rules
      table(
        'record_spaces',
        `id String, owner_id String, project_id String, project_slug String, slug String,
          name String, description String, structure String, slots String, initial_records String,
          ${times}, version UInt64, store UInt16, left_records String, rules String`,
        'ReplacingMergeTree(version)',
        `ORDER BY id SETTINGS ${deduplication(layout)}, ${durable}`,
      ),
      table(
        'stores',
        'number UInt16, hosts String, mark UInt64',
        'ReplacingMergeTree(mark)',
        `ORDER BY number SETTINGS ${deduplication(layout)}, ${durable}`,
      ),
      // the id distinguishes this store's files from other deployments' files in the same bucket, and the secret its access
      // tokens from made-up ones: `sealed` tokens have a checksum that is keyed with it
      ...['deployments', 'signing_keys'].map((name) =>
        table(
          name,
          `id String, secret String, created_at ${timestamp}`,
          'MergeTree',
          `ORDER BY id SETTINGS ${deduplication(layout)}, ${durable}`,
        ),
      ),
      // until when a process writes without announcing it to Redis, so that nobody caches results (docs/decisions/026)
      table(
        'cache_outages',
        `until ${timestamp}`,
        'MergeTree',
        `ORDER BY until TTL toDateTime(until) + INTERVAL 1 HOUR SETTINGS ${durable}`,
      ),
      // sessions of the dashboard, and the short-lived access tokens of its web app. Both expire by TTL
      table(
        'console_sessions',
        `hash String, user_id String, user_version UInt64, created_at ${timestamp}, used_at ${timestamp},
          expires_at ${timestamp}, ended Bool, version UInt64`,
        'ReplacingMergeTree(version)',
        `ORDER BY hash TTL toDateTime(expires_at) + INTERVAL 1 DAY SETTINGS ${durable}`,
      ),
      table(
        'session_tokens',
        `hash String, session String, created_at ${timestamp}, expires_at ${timestamp}`,
        'MergeTree',
        'ORDER BY hash TTL toDateTime(expires_at) + INTERVAL 1 HOUR',
      ),
      // the usage of accounts by day and project. Processes add rows, and the engine sums them up
      table(
        'usage_days',
        `owner_id String, date Date, project String, request_count UInt64, bytes_in UInt64, file_count UInt64,
          bytes_stored UInt64, records_written UInt64`,
        'SummingMergeTree',
        `ORDER BY (owner_id, date, project) TTL date + INTERVAL 2 YEAR SETTINGS ${deduplication(layout)}`,
      ),
    ];
  },
};
