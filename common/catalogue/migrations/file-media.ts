import type { Migration } from '../migrate.ts';

/** What `file_list` has of them, so that lists leave out files that are not shown. Times are milliseconds since 1970; 0: none. */
const shown = ['folder String', 'expires_at UInt64', 'trashed_at UInt64', 'state String'];
const more = ['path String', 'width UInt32', 'height UInt32', 'duration Float64'];

/** Folders, expiry, trash and quarantine of files, and the size of their pictures (gateway/catalogue/cloud-file.ts). */
export const fileMedia: Migration = {
  version: 114,
  name: 'folders, expiry, trash and pictures of files',
  statements: (database) => [
    `ALTER TABLE ${database}.cloud_files ${columns([...shown, ...more])},
      ADD INDEX IF NOT EXISTS folder folder TYPE bloom_filter(0.01) GRANULARITY 1,
      ADD INDEX IF NOT EXISTS path path TYPE bloom_filter(0.01) GRANULARITY 1`,
    // the list is sorted by time: without an index, a page of a small folder reads all files of its project
    `ALTER TABLE ${database}.file_list ${columns(shown)},
      ADD INDEX IF NOT EXISTS folder folder TYPE bloom_filter(0.01) GRANULARITY 1`,
  ],
};

function columns(definitions: readonly string[]): string {
  return definitions.map((definition) => `ADD COLUMN IF NOT EXISTS ${definition}`).join(', ');
}
