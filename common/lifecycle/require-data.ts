import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/read-config.ts';

/** Throws when a command would make a new database instead of finding one: then it is in the wrong place. */
export function requireData({ clickhouse, dataDir }: Pick<Config, 'clickhouse' | 'dataDir'>): void {
  if (clickhouse !== undefined || existsSync(join(dataDir, 'chdb'))) return;
  throw new Error(
    `there is no database in ${dataDir}: set DATA_DIR (or CLICKHOUSE_URL) as it is set for the server, or start the server first`,
  );
}
