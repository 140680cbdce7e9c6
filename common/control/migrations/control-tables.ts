import type { Migration } from '../migrate.ts';

const timestamp = `DateTime64(3, 'UTC')`;
/** An acknowledged row survives a power cut: https://clickhouse.com/docs/operations/settings/merge-tree-settings */
const durable = 'fsync_after_insert = 1, fsync_part_directory = 1';

/**
 * The tables of the service itself. Rows that change are written again with a higher version and read with FINAL:
 * they are few, and found by their key.
 */
export const controlTables: Migration = {
  version: 1,
  name: 'control tables',
  statements: (database) => [
    `CREATE TABLE IF NOT EXISTS ${database}.users (
      id String, email String, name String, password_hash String,
      created_at ${timestamp}, updated_at ${timestamp}, version UInt64
    ) ENGINE = ReplacingMergeTree(version) ORDER BY id SETTINGS ${durable}`,
    `CREATE TABLE IF NOT EXISTS ${database}.access_tokens (
      hash String, id String, user_id String, name String,
      expires_at Nullable(${timestamp}), revoked_at Nullable(${timestamp}),
      created_at ${timestamp}, version UInt64
    ) ENGINE = ReplacingMergeTree(version) ORDER BY hash SETTINGS ${durable}`,
    // apart from the tokens, so that noting a use can never undo a revocation
    `CREATE TABLE IF NOT EXISTS ${database}.access_token_uses (
      hash String, last_used_at ${timestamp}
    ) ENGINE = ReplacingMergeTree(last_used_at) ORDER BY hash`,
    `CREATE TABLE IF NOT EXISTS ${database}.projects (
      id String, owner_id String, slug String, created_at ${timestamp}, version UInt64
    ) ENGINE = ReplacingMergeTree(version) ORDER BY id SETTINGS ${durable}`,
    `CREATE TABLE IF NOT EXISTS ${database}.record_spaces (
      id String, owner_id String, project_id String, project_slug String, slug String,
      name String, description String, structure String,
      created_at ${timestamp}, updated_at ${timestamp}, version UInt64
    ) ENGINE = ReplacingMergeTree(version) ORDER BY id SETTINGS ${durable}`,
    `CREATE TABLE IF NOT EXISTS ${database}.cloud_files (
      id String, name String, original_name String, owner_id String, project_slug String, object_key String,
      content_type String, size UInt64, crc32 UInt32,
      created_at ${timestamp}, updated_at ${timestamp}
    ) ENGINE = MergeTree ORDER BY name SETTINGS ${durable}`,
  ],
};
