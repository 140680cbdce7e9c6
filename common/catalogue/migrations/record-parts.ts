import type { Migration } from '../migrate.ts';
import { fewMarks, recordsTable } from './record-tables.ts';

/** Of new parts of the records table. Parts that are there stay as they are. */
export const recordParts: Migration = {
  version: 116,
  name: 'parts of records',
  statements: (database) => [`ALTER TABLE ${database}.${recordsTable} MODIFY SETTING ${fewMarks}`],
};
