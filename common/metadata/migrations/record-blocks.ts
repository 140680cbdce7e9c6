import type { Migration } from '../migrate.ts';
import { recordsTable } from './record-tables.ts';

/**
 * A value of a megabyte is compressed in pieces. As one block it takes two buffers of its size in each part that a list
 * reads from: 16 MiB more for ten parts.
 */
const blockBytes = 64 * 1024;

export const recordBlocks: Migration = {
  version: 23,
  name: 'record_blocks',
  statements: (database, topology) => [
    `ALTER TABLE ${topology.rowsEverywhere(`${database}.${recordsTable}`)} MODIFY SETTING max_compress_block_size = ${blockBytes}`,
  ],
};
