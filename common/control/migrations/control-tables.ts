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
  statements: (database, topology) => {
    const { onCluster } = topology;
    const control = (table: string, engine: string): string =>
      topology.controlEngine(`${database}.${table}`, engine);
    const files = `${database}.cloud_files`;
    const fileColumns = `(
      id String, name String, original_name String, owner_id String, project_slug String, object_key String,
      content_type String, size UInt64, crc32 UInt32,
      created_at ${timestamp}, updated_at ${timestamp}
    )`;
    const overFiles = topology.distributedEngine(files, 'cityHash64(name)');
    return [
      `CREATE TABLE IF NOT EXISTS ${database}.users${onCluster} (
      id String, email String, name String, password_hash String,
      created_at ${timestamp}, updated_at ${timestamp}, version UInt64
    ) ENGINE = ${control('users', 'ReplacingMergeTree(version)')} ORDER BY id SETTINGS ${durable}`,
      `CREATE TABLE IF NOT EXISTS ${database}.access_tokens${onCluster} (
      hash String, id String, user_id String, name String,
      expires_at Nullable(${timestamp}), revoked_at Nullable(${timestamp}),
      created_at ${timestamp}, version UInt64
    ) ENGINE = ${control('access_tokens', 'ReplacingMergeTree(version)')} ORDER BY hash SETTINGS ${durable}`,
      // apart from the tokens, so that noting a use can never undo a revocation
      `CREATE TABLE IF NOT EXISTS ${database}.access_token_uses${onCluster} (
      hash String, last_used_at ${timestamp}
    ) ENGINE = ${control('access_token_uses', 'ReplacingMergeTree(last_used_at)')} ORDER BY hash`,
      `CREATE TABLE IF NOT EXISTS ${database}.projects${onCluster} (
      id String, owner_id String, slug String, created_at ${timestamp}, version UInt64
    ) ENGINE = ${control('projects', 'ReplacingMergeTree(version)')} ORDER BY id SETTINGS ${durable}`,
      `CREATE TABLE IF NOT EXISTS ${database}.record_spaces${onCluster} (
      id String, owner_id String, project_id String, project_slug String, slug String,
      name String, description String, structure String,
      created_at ${timestamp}, updated_at ${timestamp}, version UInt64
    ) ENGINE = ${control('record_spaces', 'ReplacingMergeTree(version)')} ORDER BY id SETTINGS ${durable}`,
      `CREATE TABLE IF NOT EXISTS ${topology.rowsEverywhere(files)} ${fileColumns}
      ENGINE = ${topology.rowsEngine(files, 'MergeTree')} ORDER BY name SETTINGS ${durable}`,
      ...(overFiles === null
        ? []
        : [`CREATE TABLE IF NOT EXISTS ${files}${onCluster} ${fileColumns} ENGINE = ${overFiles}`]),
    ];
  },
};
