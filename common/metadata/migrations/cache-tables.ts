import type { Migration } from '../migrate.ts';

/** Until when some process writes without telling Redis, so that nobody keeps results (docs/decisions/026). */
export const cacheTables: Migration = {
  version: 14,
  name: 'cache outages',
  statements: (database, topology) => {
    const outages = `${database}.cache_outages`;
    return [
      `CREATE TABLE IF NOT EXISTS ${outages}${topology.onCluster} (until DateTime64(3, 'UTC'))
        ENGINE = ${topology.metadataEngine(outages, 'MergeTree')} ORDER BY until
        TTL toDateTime(until) + INTERVAL 1 HOUR SETTINGS fsync_after_insert = 1, fsync_part_directory = 1`,
    ];
  },
};
