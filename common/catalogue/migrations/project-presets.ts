import type { Migration } from '../migrate.ts';

/** A project's own sizes of pictures as JSON (image-presets.ts); empty: none. */
export const projectPresets: Migration = {
  version: 115,
  name: 'presets of projects',
  statements: (database) => [
    `ALTER TABLE ${database}.projects ADD COLUMN IF NOT EXISTS image_presets String`,
  ],
};
