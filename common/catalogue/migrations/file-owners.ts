import type { Migration } from '../migrate.ts';

/**
 * The users that uploaded files, and the rules of a project's files as JSON (file-rules/file-rules.ts); empty: none.
 * Adding a column is no mutation: parts stay as they are.
 */
export const fileOwners: Migration = {
  version: 108,
  name: 'owners of files',
  statements: (database) => [
    `ALTER TABLE ${database}.cloud_files ADD COLUMN IF NOT EXISTS owner String`,
    `ALTER TABLE ${database}.file_list ADD COLUMN IF NOT EXISTS owner String`,
    `ALTER TABLE ${database}.projects ADD COLUMN IF NOT EXISTS file_rules String`,
  ],
};
