import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/read-config.ts';

/** Throws when a command would make a new database instead of finding one: then it is in the wrong place. */
export function requireData({ clickhouse, dataDir }: Pick<Config, 'clickhouse' | 'dataDir'>): void {
  if (clickhouse !== undefined || existsSync(join(dataDir, 'chdb'))) return;
  throw new Error(
    `there is no database in ${dataDir}: set DATA_DIR to the data directory of the server (or CLICKHOUSE_URL), or start it once`,
  );
}
