import type { Migration } from '../migrate.ts';

/**
 * Files come in small batches. While a table is small the engine merges as soon as there are five parts, which rewrites
 * most of it each time; with fifteen the same rows cost a third less CPU (docs/decisions/009-rows-of-small-files.md).
 */
export const largerMerges: Migration = {
  version: 3,
  name: 'larger merges of files',
  statements: (database, { rowsEverywhere }) => [
    `ALTER TABLE ${rowsEverywhere(`${database}.cloud_files`)} MODIFY SETTING merge_selector_base = 15`,
  ],
};
