import { join } from 'node:path';
import type { Authenticate } from '../common/auth/authenticate.ts';
import { createLoginTokens } from '../common/auth/login-tokens.ts';
import { createConfiguredKeys, createStoredKeys } from '../common/auth/signing-keys.ts';
import type { Database } from '../common/clickhouse/database.ts';
import { createGroupCommit } from '../common/clickhouse/group-commit.ts';
import type { Config } from '../common/config/read-config.ts';
import type { Route } from '../common/http/http-types.ts';
import type { Invalidation } from '../common/invalidation/invalidation.ts';
import type { ProcessServices, Service, ServiceFactory } from '../common/lifecycle/service.ts';
import { ReadWriteLock } from '../common/limits/read-write-lock.ts';
import type { Log } from '../common/log/log.ts';
import { failureDelays } from '../common/login/failure-delays.ts';
import { createHasher, type Hasher } from '../common/login/hasher.ts';
import { LoginThrottle, loginThrottleDefaults } from '../common/login/login-throttle.ts';
import { createSharedFailures, type SharedFailures } from '../common/login/shared-failures.ts';
import type { Projects } from '../common/metadata/projects.ts';
import { createUuidV7 } from '../common/metadata/uuid-v7.ts';
import type { Metrics } from '../common/metrics/create-metrics.ts';
import type { RecordEvents } from '../common/record-events/record-event.ts';
import { UsageCounts } from '../common/usage/usage-counts.ts';
import { queryExamples } from './examples.ts';
import { createStructureCache } from './input/structure-cache.ts';
import { createAuthorize } from './login/authorize.ts';
import { createVerifyCredentials } from './login/verify-credentials.ts';
import { describeOperation } from './openapi/describe-operation.ts';
import { describeSpace } from './openapi/space-document.ts';
import { anySpace } from './openapi/space-model.ts';
import { createAnnounce } from './operations/announce.ts';
import type { Operation, OperationDeps } from './operations/operation.ts';
import { operationRoute } from './operations/operation-route.ts';
import { operations, scopes } from './operations.ts';
import { projectRoutes } from './projects/project-routes.ts';
import { type BeginWrite, beginWriteAlone } from './records/begin-write.ts';
import { CacheOutages } from './records/cache-outages.ts';
import { createChangeCommit } from './records/change-commit.ts';
import { FindBatches } from './records/find-batches.ts';
import { HashChecks } from './records/hash-checks.ts';
import { LoggedWrites } from './records/logged-writes.ts';
import { afterPending, PendingRecords } from './records/pending-records.ts';
import { RecordChanges } from './records/record-changes.ts';
import { RecordLookups } from './records/record-lookups.ts';
import { quotaWrites, RecordQuota } from './records/record-quota.ts';
import { RecordReader } from './records/record-reader.ts';
import { RedisVersions } from './records/redis-versions.ts';
import { ResultCache } from './records/result-cache.ts';
import type { RewriteSpace } from './records/rewrite-space.ts';
import { noVersions, type SpaceVersions } from './records/space-versions.ts';
import { createStatementWrites } from './records/statement-writes.ts';
import { createRecordStore } from './records/store-records.ts';
import { VersionedCache } from './records/versioned-cache.ts';
import { sweepRetired } from './space/clear-slot.ts';
import { countRecordBytes } from './space/count-record-bytes.ts';
import { currentWrites } from './space/current-writes.ts';
import { sweepDropped } from './space/delete-dropped.ts';
import { InFlightWrites } from './space/in-flight-writes.ts';
import { openCatalogue } from './space/logged-catalogue.ts';
import { createOpenSpace, storesRecords } from './space/open-space.ts';
import type { SpaceCatalogue } from './space/space-catalogue.ts';
import { makeSpaceViews, type ViewsOrder } from './space/space-views.ts';
import { type Freshness, Spaces } from './space/spaces.ts';
import { TableCatalogue } from './space/table-catalogue.ts';
import { RecordsTable } from './sql/records-table.ts';
import type { FindStoredDeps } from './unique/find-stored.ts';
import { KeyFilter } from './unique/key-filter.ts';
import { RedisReservations } from './unique/redis-reservations.ts';
import { createLocalReservations, type UniqueReservations } from './unique/unique-reservations.ts';
import { usageRoute } from './usage/usage-route.ts';

/** What carries events, opened for a process, with routes of its own. */
type OpenEvents = (services: ProcessServices) => Promise<RecordEvents & Pick<Service, 'routes' | 'close'>>;

/** The query service on the stores of its process. @param openEvents what hears of writes */
export const queryService =
  (openEvents: OpenEvents): ServiceFactory =>
  async (services) => {
    const { redis, log, config } = services;
    // the embedded engine serves one process
    const alone = config.clickhouse === undefined;
    if (redis === undefined && !alone) {
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
    // what a server of a cluster answers may be older than a write that another one acknowledged
    const shares =
      redis !== undefined && !alone && services.db.cluster === undefined && services.db.servers === 1;
    const versions = shares
      ? new RedisVersions({ redis, log, outages: new CacheOutages(services) })
      : noVersions;
    const pending = alone
      ? await PendingRecords.open({
          ...services,
          table: new RecordsTable(services.db, services.database),
          directory: join(config.dataDir, 'record-log'),
          cacheBytes: config.recordCacheBytes * recordShare,
        })
      : undefined;
    // nothing that can fail comes behind it
    const events = await openEvents(services);
    return {
      routes: [
        ...queryRoutes({
          ...services,
          ...{ alone, pending, catalogue, reservations, versions, sharedFailures, events },
        }),
        ...events.routes,
      ],
      // not Redis: most requests do without it
      readiness: [],
      examples: queryExamples,
      started: () =>
        void sweepDropped({ ...services, alone }, closing.signal).then(() =>
          sweepRetired(services, closing.signal),
        ),
      commands: { 'sql-views': (order) => makeSpaceViews({ ...services, catalogue }, order as ViewsOrder) },
      async close() {
        closing.abort(new Error('the server stops'));
        await events.close();
        await reservations.close();
        await pending?.close();
        await catalogue.close();
      },
    };
  };

export interface QueryDeps {
  readonly config: Pick<
    Config,
    | 'recordCacheBytes'
    | 'maxSpaces'
    | 'maxRecordBytes'
    | 'maxRecordsBytes'
    | 'allowClearAllSpaces'
    | 'loginTokenSecret'
    | 'loginTokenTtl'
  > &
    Partial<Pick<Config, 'publicUrl' | 'maxStoredRecordBytes'>>;
  readonly db: Database;
  /** Name of the database that holds all tables. */
  readonly database: string;
  /** Whether no other process has this store. */
  readonly alone: boolean;
  readonly log?: Pick<Log, 'warn'>;
  /** Absent: its table alone. */
  readonly catalogue?: SpaceCatalogue;
  /** Absent: writes go to the table at once. */
  readonly pending?: PendingRecords | undefined;
  /** Absent: nobody measures. */
  readonly metrics?: Pick<Metrics, 'cache' | 'batch' | 'observeCall'>;
  readonly projects: Projects;
  readonly authenticate: Authenticate;
  /** Absent: argon2id. */
  readonly hasher?: Hasher;
  /** Absent: in this process. */
  readonly reservations?: UniqueReservations;
  /** Absent: how long structures are kept is as documented. */
  readonly freshness?: Freshness;
  /** Absent: nobody tells of structures that other processes change. */
  readonly invalidation?: Invalidation | undefined;
  /** What processes that share the store keep results by; absent: they keep none. */
  readonly versions?: SpaceVersions;
  /** Of a process that is alone; absent: as large as the configuration says. */
  readonly cache?: ResultCache;
  /** Absent: failed logins are counted in this process. */
  readonly sharedFailures?: SharedFailures | undefined;
  /** What this process counts; absent: nobody counts. */
  readonly usage?: UsageCounts;
  readonly events: RecordEvents;
}

/** Of the bytes for the cache of a process that is alone, what records have; results have the rest. */
const recordShare = 0.75;

/** Bytes of rows: what waits to be stored in this process, and what is gathered for one INSERT. */
const pendingLimit = 128 * 1024 * 1024;
const insertLimit = 16 * 1024 * 1024;

/** Characters of changes that wait in this process, and characters and records of one UPDATE. */
const changeLimits = { pendingLimit: 64 * 1024 * 1024, statementLimit: 4 * 1024 * 1024, recordLimit: 200 };
/**
 * In a cluster a statement lies in Keeper until all servers made it, and ZooKeeper takes a megabyte at most. Most values
 * stand in it twice: for their column, and for the map of all values.
 */
const clusterStatementLimit = 128 * 1024;

/** The routes of the query service. */
export function queryRoutes(args: QueryDeps): Route[] {
  const { config, database, pending } = args;
  const db = pending === undefined ? args.db : afterPending(args.db, pending);
  const hasher = args.hasher ?? createHasher();
  const deps = {
    ...args,
    db,
    hasher,
    table: new RecordsTable(db, database),
    catalogue: args.catalogue ?? new TableCatalogue(args),
    structures: createStructureCache(scopes, args.metrics?.cache('structures')),
    newId: createUuidV7(),
    writes: new InFlightWrites(),
    reservations: args.reservations ?? createLocalReservations(),
    lock: new ReadWriteLock(),
    loginTokens: createLoginTokens({
      keys:
        config.loginTokenSecret === undefined
          ? createStoredKeys(args)
          : createConfiguredKeys(config.loginTokenSecret),
      ttl: config.loginTokenTtl,
    }),
  };
  const throttle = new LoginThrottle(loginThrottleDefaults, { shared: args.sharedFailures });
  const checks = new HashChecks({ hasher, throttle });
  const keyFilter = args.alone ? new KeyFilter(deps) : undefined;
  const lookups = new RecordLookups({ ...deps, keyFilter });
  const counts = args.metrics?.cache('records');
  const resultBytes = config.recordCacheBytes * (1 - recordShare);
  const alone = args.alone ? (args.cache ?? new ResultCache(resultBytes, counts)) : undefined;
  const { versions = noVersions } = args;
  const sharedBytes = versions === noVersions ? 0 : config.recordCacheBytes;
  const cache = alone ?? new VersionedCache({ versions, bytes: sharedBytes, counts });
  const beginAlone = alone && beginWriteAlone(alone);
  const beginWrite: BeginWrite = async (spaceId, effects) =>
    beginAlone === undefined ? versions.begin(spaceId) : beginAlone(spaceId, effects);
  const idsByValue: FindStoredDeps['idsByValue'] = async (space, wanted, signal) =>
    (await lookups.find(space, wanted, signal)).map(({ _id }) => _id);
  const rewrite: RewriteSpace = async (spaceId, work) => {
    const end = await beginWrite(spaceId, null);
    try {
      return await (pending === undefined ? work() : pending.tables.rewrite(spaceId, work));
    } finally {
      // also when nobody knows what was done
      await end();
    }
  };
  const unique = { ...deps, idsByValue, keyFilter, beginWrite, rewrite };
  const reading = {
    ...unique,
    cache,
    checks,
    lookups,
    reader: new RecordReader({ ...deps, checks, lookups, batches: new FindBatches(deps) }),
  };
  const groupCommit = createGroupCommit({
    ...{ ...deps, pendingLimit, insertLimit },
    onStatement: args.metrics?.batch('record_inserts'),
  });
  const statementLimit = db.cluster === undefined ? changeLimits.statementLimit : clusterStatementLimit;
  const changeCommit = createChangeCommit({ ...deps, ...changeLimits, statementLimit });
  const statements = createStatementWrites({ ...deps, beginWrite, groupCommit, changeCommit });
  const anyWrites =
    pending === undefined || beginAlone === undefined
      ? statements
      : new LoggedWrites({ ...deps, pending, lookups, beginWrite: beginAlone, statements });
  const { maxStoredRecordBytes: limit = 0 } = config;
  const writes =
    limit === 0
      ? anyWrites
      : quotaWrites(anyWrites, new RecordQuota({ limit, count: countRecordBytes(deps), log: args.log }));
  const spaces = new Spaces({ ...unique, maxSpaces: config.maxSpaces });
  const current = args.alone ? writes : currentWrites(writes, spaces);
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
    records: createRecordStore({ ...unique, reader: reading.reader, writes: current }),
    changes: new RecordChanges({ ...unique, writes: current }),
    verifyCredentials: createVerifyCredentials(reading),
    describeSpace: (structure) => describeSpace(structure, config.publicUrl ?? '/'),
  };
  const model = anySpace(scopes);
  const recordRoutes = operations.flatMap((operation) => {
    const route = operationRoute(operation, { ...args, openSpace }, operationDeps);
    const handler = storesRecords(operation) ? deps.writes.tracked(route.handler) : route.handler;
    const also = (operation.also ?? []).map((other) => ({
      ...{ ...route, ...other, handler },
      api: describeOperation(operation, model, other),
    }));
    return [{ ...route, handler, api: describeOperation(operation, model) }, ...also];
  });
  return [
    ...recordRoutes,
    ...projectRoutes({ ...args, ...unique, spaces }),
    usageRoute({ usage: args.usage ?? new UsageCounts(args), authenticate: args.authenticate }),
  ];
}
