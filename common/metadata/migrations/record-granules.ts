import type { Migration } from '../migrate.ts';
import { recordsTable } from './record-tables.ts';

/**
 * Merges take all columns at once. The other way, which the engine takes from 131,072 rows on, sizes granules by the
 * columns of the key alone: 107 records of a megabyte lay in one, and each look-up in a space beside them read them all.
 */
export const recordGranules: Migration = {
  version: 24,
  name: 'record_granules',
  statements: (database, topology) => [
    `ALTER TABLE ${topology.rowsEverywhere(`${database}.${recordsTable}`)} MODIFY SETTING enable_vertical_merge_algorithm = 0`,
  ],
};
