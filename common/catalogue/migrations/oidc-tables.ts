import type { Migration } from '../migrate.ts';
import { durable, timestamp } from './table-parts.ts';

/**
 * How users of a record space log in by OpenID Connect (query/login/oidc-settings.ts): the last row of a space counts.
 * `made` is the time at which the space was created, so that a later one of the same slug has none.
 */
export const oidcTables: Migration = {
  version: 112,
  name: 'logins by OpenID Connect',
  statements: (database, layout) => {
    const table = `${database}.oidc_settings`;
    return [
      `CREATE TABLE IF NOT EXISTS ${table} (space_id String, made ${timestamp}, settings String,
        version UInt64) ENGINE = ${layout.engine(table, 'ReplacingMergeTree(version)')} ORDER BY space_id
        SETTINGS ${durable}, min_rows_to_fsync_after_merge = 1`,
    ];
  },
};
