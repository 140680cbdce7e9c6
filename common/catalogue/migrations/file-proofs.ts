import type { Migration } from '../migrate.ts';

/** How it was made sure that a file has the client's bytes, if they did not come through a gateway; empty: they did. */
export const fileProofs: Migration = {
  version: 113,
  name: 'proofs of files',
  statements: (database) => [`ALTER TABLE ${database}.cloud_files ADD COLUMN IF NOT EXISTS verified String`],
};
