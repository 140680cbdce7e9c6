import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unannounced } from '#coordination/redis/invalidation.ts';
import type { Database } from '#engine/database.ts';
import { readLimitDefaults } from '#kernel/config/settings.ts';
import { unmeasured } from '#kernel/telemetry/create-metrics.ts';
import type { QueryEnvironment } from '#query/query-environment.ts';
import { queryRoutes } from '#query/query-parts.ts';
import { SharedStore } from '#records/store-shared/shared-store.ts';
import { noVersions } from '#records/store-shared/space-versions.ts';
import type { Route } from '#server/http/http-types.ts';
import { silentLog } from './silent-log.ts';

/** The records as a process has them that shares the engine, and keeps nothing. */
export function plainStore(db: Database, database = 'sluice'): SharedStore {
  return new SharedStore({
    db,
    database,
    versions: noVersions,
    cacheBytes: 0,
    metrics: unmeasured,
    log: silentLog(),
  });
}

/** Of the query service, without limits that a test would meet. */
export const queryConfig: QueryEnvironment['config'] = {
  maxSpaces: 10_000,
  recordCacheBytes: 0,
  maxRecordBytes: 1024 ** 2,
  maxRecordsBytes: 16 * 1024 ** 2,
  maxStoredRecordBytes: 0,
  readMaxRows: 0,
  readLimits: readLimitDefaults,
  allowClearAllSpaces: false,
  publicUrl: undefined,
  liveMaxStreams: 1000,
  liveMaxTokenStreams: 1000,
  maxImportBytes: 64 * 1024 ** 2,
  dataDir: join(tmpdir(), 'sluice-nowhere'),
  mailsPerHour: 1000,
  loginTokenSecret: undefined,
  loginTokenTtl: 36 * 3_600_000,
  webhookPrivateNetworks: undefined,
  imagePresets: [],
  fileLinks: 'private',
  tls: undefined,
};

/** The table of the query service. Nothing of it can be called, but for authentication. */
export function untouchedQueryRoutes(authenticate?: QueryEnvironment['authenticate']): Route[] {
  const untouched = {
    authenticate,
    fileSenders: { authenticate, askForUsers() {} },
    events: { makeMails() {} },
    store: plainStore({} as never),
    freshness: {},
    invalidation: unannounced,
  };
  const deps = { config: queryConfig, ...untouched, metrics: unmeasured };
  return queryRoutes(deps as unknown as QueryEnvironment);
}
