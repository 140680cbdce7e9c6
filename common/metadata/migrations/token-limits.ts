import type { Migration } from '../migrate.ts';

/** What reads with an access token may take of the engine; null: as usual. */
export const tokenLimits: Migration = {
  version: 27,
  name: 'token_limits',
  statements: (database, { onCluster }) => [
    `ALTER TABLE ${database}.access_tokens${onCluster} ADD COLUMN IF NOT EXISTS read_max_rows Nullable(UInt64),
      ADD COLUMN IF NOT EXISTS read_timeout_ms Nullable(UInt32)`,
  ],
};
