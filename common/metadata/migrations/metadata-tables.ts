import type { Topology } from '../../clickhouse/topology.ts';
import type { Migration } from '../migrate.ts';

/**
 * Files come in small batches. While a table is small the engine merges as soon as there are five parts, which rewrites
 * most of it each time; with fifteen the same rows cost a third less CPU (docs/decisions/009-rows-of-small-files.md).
 */
const moreParts = 'merge_selector_base = 15';

/**
 * The first of two INSERTs with the same insert_deduplication_token counts, the other one is dropped: so two processes
 * can't both store a version of a record space. Spaces that may be changed while one process stalls in between; and
 * seconds, where there are replicas.
 */
const deduplicationWindow = 10_000;
const deduplicationTime = 7 * 24 * 3600;

function deduplication({ cluster }: Topology): string {
  return cluster === undefined
    ? `non_replicated_deduplication_window = ${deduplicationWindow}`
    : `replicated_deduplication_window = ${deduplicationWindow}, replicated_deduplication_window_seconds = ${deduplicationTime}`;
}

const timestamp = `DateTime64(3, 'UTC')`;
/** An acknowledged row survives a power cut: https://clickhouse.com/docs/operations/settings/merge-tree-settings */
const durable = 'fsync_after_insert = 1, fsync_part_directory = 1';

/**
 * The tables of the service itself. Rows that change are written again with a higher version and read with FINAL:
 * they are few, and found by their key.
 */
export const metadataTables: Migration = {
  version: 10,
  name: 'metadata tables',
  statements: (database, topology) => {
    const { onCluster } = topology;
    const control = (table: string, engine: string): string =>
      topology.metadataEngine(`${database}.${table}`, engine);
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
      created_at ${timestamp}, version UInt64, sealed Bool DEFAULT false
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
      name String, description String, structure String, slots String, initial_records String,
      created_at ${timestamp}, updated_at ${timestamp}, version UInt64
    ) ENGINE = ${control('record_spaces', 'ReplacingMergeTree(version)')} ORDER BY id SETTINGS ${deduplication(topology)}, ${durable}`,
      // tells the files of this store from those of another one in the same bucket, and its access tokens from made-up
      // ones: `sealed` tokens carry a checksum by the secret of a deployment
      `CREATE TABLE IF NOT EXISTS ${database}.deployments${onCluster} (
      id String, secret String, created_at ${timestamp}
    ) ENGINE = ${control('deployments', 'MergeTree')} ORDER BY id SETTINGS ${durable}`,
      `CREATE TABLE IF NOT EXISTS ${database}.signing_keys${onCluster} (
      id String, secret String, created_at ${timestamp}
    ) ENGINE = ${control('signing_keys', 'MergeTree')} ORDER BY id SETTINGS ${durable}`,
      `CREATE TABLE IF NOT EXISTS ${topology.rowsEverywhere(files)} ${fileColumns}
      ENGINE = ${topology.rowsEngine(files, 'MergeTree')} ORDER BY name SETTINGS ${moreParts}, ${durable}`,
      ...(overFiles === null
        ? []
        : [`CREATE TABLE IF NOT EXISTS ${files}${onCluster} ${fileColumns} ENGINE = ${overFiles}`]),
    ];
  },
};
