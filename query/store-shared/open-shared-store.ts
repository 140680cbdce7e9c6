import type { Database } from '../../common/clickhouse/database.ts';
import type { Log } from '../../common/log/log.ts';
import type { RedisConnection } from '../../common/redis/redis-connection.ts';
import type { Metrics } from '../../common/telemetry/create-metrics.ts';
import { CacheOutages } from './cache-outages.ts';
import { RedisVersions } from './redis-versions.ts';
import { SharedStore } from './shared-store.ts';
import { noVersions } from './space-versions.ts';

/** The store of a process that shares one: results are kept only where Redis can say that they are right. */
export function openSharedStore(services: {
  readonly db: Database;
  readonly database: string;
  readonly redis: RedisConnection | undefined;
  readonly config: { readonly recordCacheBytes: number };
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'batch' | 'cache'>;
}): SharedStore {
  const { redis, config, db } = services;
  // what a server of a cluster answers may be older than a write that another one acknowledged
  const shares = redis !== undefined && db.cluster === undefined && db.servers === 1;
  if (!shares) return new SharedStore({ ...services, versions: noVersions, cacheBytes: 0 });
  const versions = new RedisVersions({ ...services, redis, outages: new CacheOutages(services) });
  return new SharedStore({ ...services, versions, cacheBytes: config.recordCacheBytes });
}
