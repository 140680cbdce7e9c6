import type { Config } from '#kernel/config/read-config.ts';

/** The database that holds the metadata tables and the tables of the record spaces. */
export function databaseName({ clickhouse }: Pick<Config, 'clickhouse'>): string {
  return clickhouse?.database ?? 'sluice';
}
