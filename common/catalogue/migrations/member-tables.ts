import type { Migration } from '../migrate.ts';
import { deduplication, durable, timestamp } from './table-parts.ts';

const synced = `${durable}, min_rows_to_fsync_after_merge = 1`;
/** A link that has expired still tells the person who used it that it worked. */
const linkDays = 7;

/** Members of accounts, links for people, and accounts that are deleted (docs/decisions/077). */
export const memberTables: Migration = {
  version: 111,
  name: 'members and closed accounts',
  statements: (database, layout) => {
    const table = (name: string, columns: string, engine: string, more: string): string =>
      `CREATE TABLE IF NOT EXISTS ${database}.${name} (${columns}) ENGINE = ${layout.engine(`${database}.${name}`, engine)} ${more}`;
    // two writers of one version are told apart by the tokens of their INSERTs, and by `writer`
    const versioned = `writer String, version UInt64`;
    return [
      table(
        'members',
        `account_id String, user_id String, grants String, manages Bool, invitation String, has_left Bool,
          created_at ${timestamp}, ${versioned}`,
        'ReplacingMergeTree(version)',
        `ORDER BY (account_id, user_id) SETTINGS ${deduplication(layout)}, ${synced}`,
      ),
      table(
        'account_links',
        `id String, hash String, kind LowCardinality(String), account_id String, email String, grants String,
          manages Bool, made_by String, state LowCardinality(String), used_by String,
          created_at ${timestamp}, expires_at ${timestamp}, ${versioned}`,
        'ReplacingMergeTree(version)',
        `ORDER BY id TTL toDateTime(expires_at) + INTERVAL ${linkDays} DAY
          SETTINGS ${deduplication(layout)}, ${synced}`,
      ),
      // ids that nobody gets again; `deletes`: everything of the account is removed
      table(
        'closed_accounts',
        `id String, deletes Bool, closed_at ${timestamp}`,
        'ReplacingMergeTree',
        `ORDER BY id SETTINGS ${synced}`,
      ),
      table(
        'account_removals',
        `account_id String, part LowCardinality(String), passed_at ${timestamp}, is_done Bool`,
        'ReplacingMergeTree(passed_at)',
        `ORDER BY (account_id, part) SETTINGS ${synced}`,
      ),
      ...['account_id', 'agent', 'address'].map(
        (column) => `ALTER TABLE ${database}.console_sessions ADD COLUMN IF NOT EXISTS ${column} String`,
      ),
      `ALTER TABLE ${database}.access_tokens ADD COLUMN IF NOT EXISTS made_by String`,
    ];
  },
};
