import type { FileSession, StoredFiles } from '../../files/file-session.ts';
import { ConnectionPool } from '../../http/connection-pool.ts';
import type { SluiceAddress } from './sluice-address.ts';

/** Files of a Sluice, over connections of their own. Close it. */
export function openFiles(
  { url, base, project, token }: SluiceAddress,
  seed: number,
  files: StoredFiles = {},
): FileSession & { close(): void } {
  const pools = new Map<string, ConnectionPool>();
  return {
    seed,
    url: url.origin,
    base: `${base}/_f_/${project}`,
    token,
    files,
    senderOf(origin) {
      let pool = pools.get(origin);
      if (pool === undefined) {
        pool = new ConnectionPool(origin);
        pools.set(origin, pool);
      }
      return pool;
    },
    close() {
      for (const pool of pools.values()) pool.close();
    },
  };
}
