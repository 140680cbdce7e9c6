import type { Authenticate } from '../common/auth/authenticate.ts';
import { failureDelays } from '../common/auth/failure-delays.ts';
import { createHasher, type Hasher } from '../common/auth/hasher.ts';
import { LoginThrottle, loginThrottleDefaults } from '../common/auth/login-throttle.ts';
import { createLoginTokens } from '../common/auth/login-tokens.ts';
import { createSharedFailures, type SharedFailures } from '../common/auth/shared-failures.ts';
import { createConfiguredKeys, createStoredKeys } from '../common/auth/signing-keys.ts';
import type { Config } from '../common/config/read-config.ts';
import type { Route } from '../common/http/http-types.ts';
import type { ProcessServices, Service, ServiceFactory } from '../common/lifecycle/service.ts';
import { UsageCounts } from '../common/metadata/usage-counts.ts';
import { createUuidV7 } from '../common/metadata/uuid-v7.ts';
import type { RecordEvents } from '../common/record-events/record-event.ts';
import type { Metrics } from '../common/telemetry/create-metrics.ts';
import { queryExamples } from './examples.ts';
import { acceptQuery } from './input/query-media-type.ts';
import { createStructureCache } from './input/structure-cache.ts';
import { createAuthorize } from './login/authorize.ts';
import { describeOperation } from './openapi/describe-operation.ts';
import { describeSpace } from './openapi/space-document.ts';
import { anySpace } from './openapi/space-model.ts';
import { createAnnounce } from './operations/announce.ts';
import type { Operation, OperationDeps } from './operations/operation.ts';
import { operationRoute } from './operations/operation-route.ts';
import { operations, scopes } from './operations.ts';
import { projectRoutes } from './projects/project-routes.ts';
import { Candidates } from './records/candidates.ts';
import { HashChecks } from './records/hash-checks.ts';
import { sweepReceipts } from './records/insert-receipts.ts';
import { createRecordInserts } from './records/insert-records.ts';
import { RecordChanges } from './records/record-changes.ts';
import { quotaWrites, RecordQuota } from './records/record-quota.ts';
import { RecordReader } from './records/record-reader.ts';
import { countRecordBytes } from './space/count-record-bytes.ts';
import { currentWrites } from './space/current-writes.ts';
import { InFlightWrites } from './space/in-flight-writes.ts';
import { openCatalogue } from './space/logged-catalogue.ts';
import { createOpenSpace, storesRecords } from './space/open-space.ts';
import { sweepLeft } from './space/removals.ts';
import { makeSpaceViews, type ViewsOrder } from './space/space-views.ts';
import { Spaces } from './space/spaces.ts';
import type { SpacesDeps } from './space/spaces-deps.ts';
import type { RecordStore } from './store/record-store.ts';
import { EmbeddedStore } from './store-embedded/embedded-store.ts';
import { CacheOutages } from './store-shared/cache-outages.ts';
import { RedisVersions } from './store-shared/redis-versions.ts';
import { SharedStore } from './store-shared/shared-store.ts';
import { noVersions } from './store-shared/space-versions.ts';
import { RedisReservations } from './unique/redis-reservations.ts';
import { createLocalReservations, type UniqueReservations } from './unique/unique-reservations.ts';
import { usageRoutes } from './usage/usage-route.ts';

/** What carries events, opened for a process, with routes of its own. */
type OpenEvents = (services: ProcessServices) => Promise<RecordEvents & Pick<Service, 'routes' | 'close'>>;

/** How often receipts of inserts are swept. Milliseconds. */
const sweepEvery = 3_600_000;

/** The query service on the stores of its process. @param openEvents what hears of writes */
export const queryService =
  (openEvents: OpenEvents): ServiceFactory =>
  async (services) => {
    const { redis, log, config } = services;
    if (redis === undefined && config.clickhouse !== undefined) {
      log.warn('without REDIS_URL, values of unique fields are kept apart within this process only');
    }
    const catalogue = await openCatalogue(services);
    const everUsed = async (signal: AbortSignal): Promise<boolean> => !(await catalogue.isEmpty(signal));
    const reservations =
      redis === undefined ? createLocalReservations() : new RedisReservations({ redis, log, everUsed });
    const sharedFailures =
      redis === undefined
        ? undefined
        : createSharedFailures({ redis, keys: createStoredKeys(services), delays: failureDelays, log });
    const closing = new AbortController();
    let sweeping: NodeJS.Timeout | undefined;
    const store = await openStore(services);
    // nothing that can fail comes behind it
    const events = await openEvents(services);
    return {
      routes: [
        ...queryRoutes({
          ...services,
          ...{ store, catalogue, reservations, sharedFailures, events },
        }),
        ...events.routes,
      ],
      // not Redis: most requests do without it
      readiness: [],
      examples: queryExamples,
      started() {
        const sweep = (): Promise<void> => sweepReceipts({ store, log }, closing.signal);
        sweeping = setInterval(() => void sweep(), sweepEvery).unref();
        void sweepLeft({ store, catalogue, log }, closing.signal).then(sweep);
      },
      commands: { 'sql-views': (order) => makeSpaceViews({ ...services, catalogue }, order as ViewsOrder) },
      async close() {
        clearInterval(sweeping);
        closing.abort(new Error('the server stops'));
        await events.close();
        await reservations.close();
        await store.close();
        await catalogue.close();
      },
    };
  };

/** The one place that knows which of the two stores there is. */
async function openStore(services: ProcessServices): Promise<RecordStore> {
  const { redis, config, db } = services;
  // the embedded engine serves one process
  if (config.clickhouse === undefined) return EmbeddedStore.open(services);
  // what a server of a cluster answers may be older than a write that another one acknowledged
  const shares = redis !== undefined && db.cluster === undefined && db.servers === 1;
  return shares
    ? new SharedStore({
        ...services,
        versions: new RedisVersions({ ...services, redis, outages: new CacheOutages(services) }),
        cacheBytes: config.recordCacheBytes,
      })
    : new SharedStore({ ...services, versions: noVersions, cacheBytes: 0 });
}

export interface QueryDeps
  extends Pick<SpacesDeps, 'store' | 'catalogue' | 'projects' | 'log' | 'freshness' | 'invalidation'> {
  readonly config: Pick<
    Config,
    | 'maxSpaces'
    | 'maxRecordBytes'
    | 'maxRecordsBytes'
    | 'allowClearAllSpaces'
    | 'loginTokenSecret'
    | 'loginTokenTtl'
  > &
    Partial<Pick<Config, 'publicUrl' | 'maxStoredRecordBytes' | 'readMaxRows'>>;
  /** Name of the database that holds all tables. */
  readonly database: string;
  readonly authenticate: Authenticate;
  readonly events: RecordEvents;
  /** Absent: nobody measures. */
  readonly metrics?: Pick<Metrics, 'cache' | 'observeCall'>;
  /** Absent: the clock. */
  readonly now?: () => number;
  /** Absent: argon2id. */
  readonly hasher?: Hasher;
  /** Absent: in this process. */
  readonly reservations?: UniqueReservations;
  /** Absent: failed logins are counted in this process. */
  readonly sharedFailures?: SharedFailures | undefined;
  /** What this process counts; absent: nobody counts. */
  readonly usage?: UsageCounts;
}

/** The routes of the query service. */
export function queryRoutes(args: QueryDeps): Route[] {
  const { config, store } = args;
  const hasher = args.hasher ?? createHasher();
  const deps = {
    ...args,
    hasher,
    structures: createStructureCache(scopes, args.metrics?.cache('structures')),
    newId: createUuidV7(),
    writes: new InFlightWrites(),
    reservations: args.reservations ?? createLocalReservations(),
    loginTokens: createLoginTokens({
      keys:
        config.loginTokenSecret === undefined
          ? createStoredKeys({ ...args, db: store.db })
          : createConfiguredKeys(config.loginTokenSecret),
      ttl: config.loginTokenTtl,
    }),
  };
  const throttle = new LoginThrottle(loginThrottleDefaults, { shared: args.sharedFailures });
  const checks = new HashChecks({ hasher, throttle });
  const candidates = new Candidates({ store, checks });
  const reading = {
    ...deps,
    candidates,
    reader: new RecordReader({ store, candidates, maxRows: config.readMaxRows }),
  };
  const spaces = new Spaces({ ...deps, maxSpaces: config.maxSpaces });
  const { maxStoredRecordBytes: limit = 0 } = config;
  const count = (account: string) => countRecordBytes(deps, account);
  const quota = limit === 0 ? null : new RecordQuota({ limit, count, log: args.log });
  const counted = quota === null ? store : quotaWrites(store, quota);
  const writes = store.alone ? counted : currentWrites(counted, spaces);
  const authorize = createAuthorize({ ...reading, spaces });
  const openSpace = createOpenSpace({
    ...reading,
    spaces,
    authorize,
    clear: operations.find(({ name }) => name === 'clear') as Operation,
    allowClear: config.allowClearAllSpaces,
  });
  const operationDeps: OperationDeps = {
    ...reading,
    announce: createAnnounce(args.events),
    spaces,
    authorize,
    records: createRecordInserts({ ...reading, writes, now: args.now ?? Date.now }),
    changes: new RecordChanges({ ...deps, writes }),
    describeSpace: (structure) => describeSpace(operations, structure, config.publicUrl ?? '/'),
  };
  const model = anySpace(scopes);
  const recordRoutes = operations.flatMap((operation) => {
    const route = operationRoute(operation, { ...args, openSpace }, operationDeps);
    const handler = storesRecords(operation) ? deps.writes.tracked(route.handler) : route.handler;
    const also = (operation.also ?? []).map((other) => ({
      ...{ ...route, ...other, handler },
      ...(other.method === 'QUERY' ? { optionsHeaders: acceptQuery } : {}),
      api: describeOperation(operation, model, other),
    }));
    return [{ ...route, handler, api: describeOperation(operation, model) }, ...also];
  });
  return [
    ...recordRoutes,
    ...projectRoutes({ ...deps, spaces }),
    ...usageRoutes({
      usage: args.usage ?? new UsageCounts({ ...args, db: store.db }),
      authenticate: args.authenticate,
    }),
  ];
}
