import { openClickhouse } from '../../common/clickhouse/clickhouse-database.ts';
import type { ClickhouseOptions } from '../../common/clickhouse/clickhouse-statements.ts';
import type { Database } from '../../common/clickhouse/database.ts';
import { silentLog } from './silent-log.ts';

/** The client of a server whose user is the usual one. */
export function openTestClickhouse(options: Partial<ClickhouseOptions> & { readonly url: string }): Database {
  return openClickhouse({ user: 'default', password: '', log: silentLog(), ...options });
}
