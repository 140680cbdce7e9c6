import type { Migration } from '../migrate.ts';
import { columnOf, firstColumns, recordsTable } from './record-tables.ts';

/** Columns for days, instants, whole numbers of 64 bits and decimals, where a table has all from the beginning. */
export const wholeSlots: Migration = {
  version: 107,
  name: 'columns of whole numbers',
  statements: (database, { replicated }) => {
    const slots = firstColumns(replicated).filter((slot) => slot.startsWith('i'));
    if (slots.length === 0) return [];
    const added = slots.map((slot) => `ADD COLUMN IF NOT EXISTS ${columnOf(slot)}`);
    return [`ALTER TABLE ${database}.${recordsTable} ${added.join(', ')}`];
  },
};
