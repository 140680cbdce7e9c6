import type { Migration } from '../migrate.ts';
import { deduplication, durable, timestamp } from './table-parts.ts';

/**
 * Files come in small batches. While a table is small the engine merges as soon as there are five parts, which rewrites
 * most of it each time; with fifteen the same rows cost a third less CPU (docs/decisions/009-rows-of-small-files.md).
 */
const moreParts = 'merge_selector_base = 15';

const fileColumns = `(
  id String, name String, original_name String, owner_id String, project_slug String, object_key String,
  content_type String, size UInt64, crc32 UInt32,
  created_at ${timestamp}, updated_at ${timestamp}
)`;

/**
 * The tables of the service itself. Rows that change are written again with a higher version and read with FINAL:
 * they are few, and found by their key.
 */
export const metadataTables: readonly Migration[] = [
  {
    version: 10,
    name: 'metadata tables',
    statements: (database, layout) => {
      const engine = (name: string, engine: string): string => layout.engine(`${database}.${name}`, engine);
      return [
        `CREATE TABLE IF NOT EXISTS ${database}.users (
          id String, email String, name String, password_hash String,
          created_at ${timestamp}, updated_at ${timestamp}, version UInt64
        ) ENGINE = ${engine('users', 'ReplacingMergeTree(version)')} ORDER BY id SETTINGS ${durable}`,
        `CREATE TABLE IF NOT EXISTS ${database}.access_tokens (
          hash String, id String, user_id String, name String,
          expires_at Nullable(${timestamp}), revoked_at Nullable(${timestamp}),
          created_at ${timestamp}, version UInt64, sealed Bool DEFAULT false
        ) ENGINE = ${engine('access_tokens', 'ReplacingMergeTree(version)')} ORDER BY hash SETTINGS ${durable}`,
        // apart from the tokens, so that noting a use can never undo a revocation
        `CREATE TABLE IF NOT EXISTS ${database}.access_token_uses (hash String, last_used_at ${timestamp})
          ENGINE = ${engine('access_token_uses', 'ReplacingMergeTree(last_used_at)')} ORDER BY hash`,
        `CREATE TABLE IF NOT EXISTS ${database}.projects (
          id String, owner_id String, slug String, created_at ${timestamp}, version UInt64
        ) ENGINE = ${engine('projects', 'ReplacingMergeTree(version)')} ORDER BY id SETTINGS ${durable}`,
        `CREATE TABLE IF NOT EXISTS ${database}.record_spaces (
          id String, owner_id String, project_id String, project_slug String, slug String,
          name String, description String, structure String, slots String, initial_records String,
          created_at ${timestamp}, updated_at ${timestamp}, version UInt64
        ) ENGINE = ${engine('record_spaces', 'ReplacingMergeTree(version)')} ORDER BY id
          SETTINGS ${deduplication(layout)}, ${durable}`,
        // deployments tell the files of this store from those of another one in the same bucket, and its access tokens
        // from made-up ones: `sealed` tokens carry a checksum by the secret of a deployment
        ...['deployments', 'signing_keys'].map(
          (name) => `CREATE TABLE IF NOT EXISTS ${database}.${name} (
            id String, secret String, created_at ${timestamp}
          ) ENGINE = ${engine(name, 'MergeTree')} ORDER BY id SETTINGS ${durable}`,
        ),
        `CREATE TABLE IF NOT EXISTS ${database}.cloud_files ${fileColumns}
          ENGINE = ${engine('cloud_files', 'MergeTree')} ORDER BY name SETTINGS ${moreParts}, ${durable}`,
      ];
    },
  },
  {
    // the time until which a process writes without telling Redis, so that nobody keeps results (docs/decisions/026)
    version: 14,
    name: 'cache outages',
    statements: (database, layout) => {
      const outages = `${database}.cache_outages`;
      return [
        `CREATE TABLE IF NOT EXISTS ${outages} (until ${timestamp})
          ENGINE = ${layout.engine(outages, 'MergeTree')} ORDER BY until
          TTL toDateTime(until) + INTERVAL 1 HOUR SETTINGS ${durable}`,
      ];
    },
  },
  {
    // sessions of the dashboard, and the access tokens that its web app gets for a while. Both remove themselves.
    // Versions of an account are kept apart by tokens of their INSERTs, as those of record spaces are
    version: 20,
    name: 'sessions',
    statements: (database, layout) => {
      const sessions = `${database}.console_sessions`;
      const tokens = `${database}.session_tokens`;
      return [
        `CREATE TABLE IF NOT EXISTS ${sessions} (hash String, user_id String, user_version UInt64,
          created_at ${timestamp}, used_at ${timestamp}, expires_at ${timestamp}, ended Bool, version UInt64)
          ENGINE = ${layout.engine(sessions, 'ReplacingMergeTree(version)')} ORDER BY hash
          TTL toDateTime(expires_at) + INTERVAL 1 DAY SETTINGS ${durable}`,
        `CREATE TABLE IF NOT EXISTS ${tokens} (hash String, session String,
          created_at ${timestamp}, expires_at ${timestamp})
          ENGINE = ${layout.engine(tokens, 'MergeTree')} ORDER BY hash
          TTL toDateTime(expires_at) + INTERVAL 1 HOUR`,
        `ALTER TABLE ${database}.users MODIFY SETTING ${deduplication(layout)}`,
      ];
    },
  },
  {
    // the use of accounts, by day and project. Processes add rows, and the engine sums them up
    version: 21,
    name: 'usage',
    statements: (database, layout) => {
      const days = `${database}.usage_days`;
      return [
        `CREATE TABLE IF NOT EXISTS ${days} (owner_id String, date Date, project String,
          request_count UInt64, bytes_in UInt64, file_count UInt64, bytes_stored UInt64, records_written UInt64)
          ENGINE = ${layout.engine(days, 'SummingMergeTree')} ORDER BY (owner_id, date, project)
          TTL date + INTERVAL 2 YEAR SETTINGS ${deduplication(layout)}`,
      ];
    },
  },
  {
    // the engine's limits for reads with an access token; null: the usual ones
    version: 27,
    name: 'token_limits',
    statements: (database) => [
      `ALTER TABLE ${database}.access_tokens ADD COLUMN IF NOT EXISTS read_max_rows Nullable(UInt64),
        ADD COLUMN IF NOT EXISTS read_timeout_ms Nullable(UInt32)`,
    ],
  },
  {
    // what the token is for, as JSON; empty: everything
    version: 31,
    name: 'token_grants',
    statements: (database) => [
      `ALTER TABLE ${database}.access_tokens ADD COLUMN IF NOT EXISTS grants String`,
    ],
  },
  {
    // who may read and change which of its records, as JSON; empty: there are no rules
    version: 32,
    name: 'space_rules',
    statements: (database) => [`ALTER TABLE ${database}.record_spaces ADD COLUMN IF NOT EXISTS rules String`],
  },
  {
    // the stores that have the records of spaces, and of each space the one that it is in. `left_records`: an id under
    // which records of the space may lie that it does not have there, or not yet, while it moves to another store
    version: 28,
    name: 'stores',
    statements: (database, layout) => [
      `CREATE TABLE IF NOT EXISTS ${database}.stores (number UInt16, hosts String, mark UInt64)
        ENGINE = ${layout.engine(`${database}.stores`, 'ReplacingMergeTree(mark)')} ORDER BY number
        SETTINGS ${deduplication(layout)}, ${durable}`,
      `ALTER TABLE ${database}.record_spaces ADD COLUMN IF NOT EXISTS store UInt16,
        ADD COLUMN IF NOT EXISTS left_records String`,
    ],
  },
];
