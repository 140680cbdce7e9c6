import type { Migration } from '../migrate.ts';
import { durable, timestamp } from './table-parts.ts';

/** Webhook addresses that were disabled or re-enabled: the last row of an address counts (events/dead-addresses.ts). */
export const webhookAddressTables: Migration = {
  version: 105,
  name: 'webhook addresses',
  statements: (database, layout) => {
    const addresses = `${database}.webhook_addresses`;
    return [
      `CREATE TABLE IF NOT EXISTS ${addresses} (owner_id String, url String, is_off Bool, problem String,
        changed_at ${timestamp})
        ENGINE = ${layout.engine(addresses, 'ReplacingMergeTree')} ORDER BY (owner_id, url)
        TTL toDateTime(changed_at) + INTERVAL 1 YEAR SETTINGS ${durable}`,
    ];
  },
};
