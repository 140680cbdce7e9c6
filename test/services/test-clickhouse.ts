import type { ClickhouseOptions } from '#engine/clickhouse-statements.ts';
import type { Database } from '#engine/database.ts';
import { openClickhouse } from '#engine/open-clickhouse.ts';
import { silentLog } from './silent-log.ts';

/** The client of a server whose user is the usual one. */
export function openTestClickhouse(options: Partial<ClickhouseOptions> & { readonly url: string }): Database {
  return openClickhouse({ user: 'default', password: '', log: silentLog(), ...options });
}
