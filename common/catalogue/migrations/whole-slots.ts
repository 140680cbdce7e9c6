import type { Migration } from '../migrate.ts';
import { columnsOf, recordsTable } from './record-tables.ts';

/** Columns for days, instants, whole numbers of 64 bits and decimals. Adding a column is no mutation: parts stay as they are. */
export const wholeSlots: Migration = {
  version: 107,
  name: 'columns of whole numbers',
  statements: (database) => {
    const added = columnsOf('i').map((column) => `ADD COLUMN IF NOT EXISTS ${column}`);
    return [`ALTER TABLE ${database}.${recordsTable} ${added.join(', ')}`];
  },
};
