import type { Migration } from '../migrate.ts';

/**
 * What tells the files of this store from those of another one in the same bucket, and its access tokens from made-up
 * ones. `sealed`: the token carries a checksum by the secret of a deployment.
 */
export const deployments: Migration = {
  version: 4,
  name: 'deployments',
  statements: (database, { onCluster, controlEngine }) => [
    `CREATE TABLE IF NOT EXISTS ${database}.deployments${onCluster} (
      id String, secret String, created_at DateTime64(3, 'UTC')
    )
     ENGINE = ${controlEngine(`${database}.deployments`, 'MergeTree')} ORDER BY id
     SETTINGS fsync_after_insert = 1, fsync_part_directory = 1`,
    `ALTER TABLE ${database}.access_tokens ADD COLUMN IF NOT EXISTS sealed Bool DEFAULT false`,
  ],
};
