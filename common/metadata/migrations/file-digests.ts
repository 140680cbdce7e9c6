import type { Migration } from '../migrate.ts';

/** The SHA-256 of files, and what finds a file by it: among a million rows in a few granules. */
export const fileDigests: Migration = {
  version: 26,
  name: 'file_digests',
  statements: (database, topology) => {
    const files = `${database}.cloud_files`;
    const column = 'ADD COLUMN IF NOT EXISTS sha256 String';
    return [
      `ALTER TABLE ${topology.rowsEverywhere(files)} ${column},
        ADD INDEX IF NOT EXISTS sha256 sha256 TYPE bloom_filter(0.01) GRANULARITY 1`,
      ...(topology.cluster === undefined ? [] : [`ALTER TABLE ${files}${topology.onCluster} ${column}`]),
    ];
  },
};
