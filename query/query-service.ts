import { join } from 'node:path';
import { createHasher } from '#auth/hasher.ts';
import { createLoginTokens } from '#auth/login-tokens.ts';
import { openLoginThrottle } from '#auth/open-login-throttle.ts';
import { createConfiguredKeys, createKeyedHash, createStoredKeys } from '#auth/signing-keys.ts';
import type { UsageCounts } from '#catalogue/usage-counts.ts';
import type { Config } from '#kernel/config/read-config.ts';
import { createUuidV7 } from '#kernel/ids/uuid-v7.ts';
import type { RecordEvents } from '#kernel/record-events/record-event.ts';
import type { Metrics } from '#kernel/telemetry/create-metrics.ts';
import { openObjectStore } from '#objects/open-object-store.ts';
import type { Examples } from '#process/lifecycle/first-start-text.ts';
import type { ProcessServices, Service, ServiceFactory } from '#process/lifecycle/service.ts';
import { AnnouncedWrites } from '#records/announced-writes.ts';
import { Candidates } from '#records/candidates.ts';
import { HashChecks, type Throttle } from '#records/hash-checks.ts';
import { sweepReceipts } from '#records/insert-receipts.ts';
import { RecordInserts } from '#records/insert-records.ts';
import { RecordChanges } from '#records/record-changes.ts';
import { RecordExports } from '#records/record-exports.ts';
import { quotaWrites, RecordQuota } from '#records/record-quota.ts';
import { RecordReader } from '#records/record-reader.ts';
import { cacheShares } from '#records/store/cache-shares.ts';
import type { WritableStore } from '#records/store/record-store.ts';
import { EmbeddedStore } from '#records/store-embedded/embedded-store.ts';
import { exampleStructure } from '#records/structure/example-structure.ts';
import { createLocalReservations, type UniqueReservations } from '#records/unique/unique-reservations.ts';
import type { Route } from '#server/http/http-types.ts';
import { fileRoutes } from './files/file-routes.ts';
import { FileTables } from './files/file-tables.ts';
import { Imports } from './imports/jobs/imports.ts';
import { jobRoutes } from './imports/jobs/job-routes.ts';
import { StoredFiles } from './imports/jobs/stored-files.ts';
import { acceptQuery } from './input/query-media-type.ts';
import { StructureCache } from './input/structure-cache.ts';
import { LiveAddresses } from './live/live-addresses.ts';
import { LiveRequest } from './live/live-request.ts';
import { liveAnswer, liveRoute } from './live/live-route.ts';
import { LiveStreams } from './live/live-streams.ts';
import { createAuthorize } from './login/authorize.ts';
import { BoundSpaces } from './login/bind-space.ts';
import { describeOperation } from './openapi/describe-operation.ts';
import { describeSpace } from './openapi/space-document.ts';
import { anySpace } from './openapi/space-model.ts';
import type { Operation, OperationDeps } from './operations/operation.ts';
import { operationRoute } from './operations/operation-route.ts';
import { operations, scopes } from './operations.ts';
import { projectRoutes } from './projects/project-routes.ts';
import { currentWrites } from './space/current-writes.ts';
import { InFlightWrites } from './space/in-flight-writes.ts';
import { openCatalogue } from './space/logged-catalogue.ts';
import { createOpenSpace, storesRecords } from './space/open-space.ts';
import { sweepLeft } from './space/removals.ts';
import { countRecordBytes } from './space/space-figures.ts';
import { makeSpaceViews, type ViewsOrder } from './space/space-views.ts';
import { Spaces } from './space/spaces.ts';
import { freshnessOf, type SpacesDeps } from './space/spaces-deps.ts';
import { usageRoutes } from './usage/usage-route.ts';

/** The carrier of events, opened for a process, with routes of its own. */
type OpenEvents = (services: ProcessServices) => Promise<RecordEvents & Pick<Service, 'routes' | 'close'>>;

/** How often receipts of inserts are swept. Milliseconds. */
const sweepEvery = 3_600_000;

/** Share of structures that requests bring; a space with its stored structure takes less. */
const structureShare = 5 / 8;

const examples: Examples = (curl, baseUrl) => `Insert records:
${curl} -H 'structure: ${JSON.stringify(exampleStructure)}' -H 'Content-Type: application/json' -d '[{"name":"Ada","age":36},{"name":"Grace","age":45}]' ${baseUrl}/demo/people

Find records:
${curl} -H 'structure: ${JSON.stringify(exampleStructure)}' '${baseUrl}/demo/people?age=36'
`;

/** The query service on the stores of its process. @param openEvents opens the receiver of writes */
export const queryService =
  (openEvents: OpenEvents): ServiceFactory =>
  async (services) => {
    const { redis, log, config } = services;
    if (redis === undefined && config.clickhouse !== undefined) {
      log.warn('without REDIS_URL, values of unique fields are kept apart within this process only');
    }
    const catalogue = await openCatalogue(services);
    const everUsed = async (signal: AbortSignal): Promise<boolean> => !(await catalogue.isEmpty(signal));
    const reservations = await openReservations(services, everUsed);
    const throttle = await openLoginThrottle(services);
    const closing = new AbortController();
    let sweeping: NodeJS.Timeout | undefined;
    const store = await openStore(services);
    const events = await openEvents(services);
    const files = new StoredFiles({
      deploymentId: services.deployment.id,
      open: async () => (await openObjectStore(config, log)).store,
    });
    const { routes, imports, tables, live } = queryParts({
      ...services,
      ...{ files, store, catalogue, reservations, throttle, events, hasher: createHasher(), now: Date.now },
      freshness: freshnessOf(store, services.invalidation),
    });
    await imports.open();
    return {
      routes: [...routes, ...events.routes],
      // not Redis: most requests do without it
      readiness: [],
      examples,
      started() {
        store.started();
        const sweep = (): Promise<void> => sweepReceipts({ store, log }, closing.signal);
        sweeping = setInterval(() => void sweep(), sweepEvery).unref();
        imports.started();
        void sweepLeft({ store, catalogue, log }, closing.signal).then(sweep);
      },
      draining: () => live.drain(),
      commands: { 'sql-views': (order) => makeSpaceViews({ ...services, catalogue }, order as ViewsOrder) },
      async close() {
        clearInterval(sweeping);
        closing.abort(new Error('the server stops'));
        await live.close();
        await imports.close();
        await tables.close();
        await files.close();
        await events.close();
        await reservations.close();
        await store.close();
        await catalogue.close();
      },
    };
  };

/** The one place that knows which of the two stores there is. */
async function openStore(services: ProcessServices): Promise<WritableStore> {
  // the embedded engine serves one process
  if (services.config.clickhouse === undefined) return EmbeddedStore.open(services);
  const { SharedStore } = await import('#records/store-shared/shared-store.ts');
  return SharedStore.open(services);
}

/** Redis' are loaded only where there is one. */
async function openReservations(
  { redis, log }: ProcessServices,
  everUsed: (signal: AbortSignal) => Promise<boolean>,
): Promise<UniqueReservations> {
  if (redis === undefined) return createLocalReservations();
  const { RedisReservations } = await import('#records/unique/redis-reservations.ts');
  return new RedisReservations({ redis, log, everUsed });
}

export interface QueryDeps
  extends Omit<SpacesDeps, 'newId' | 'writes' | 'maxSpaces' | 'knownBytes' | 'metrics' | 'log'>,
    Pick<ProcessServices, 'database' | 'authenticate' | 'authenticateAgain' | 'log'> {
  readonly metrics: Pick<Metrics, 'cache' | 'reads' | 'gauge' | 'counter' | 'durations'>;
  readonly config: Pick<
    Config,
    | 'maxSpaces'
    | 'maxRecordBytes'
    | 'maxRecordsBytes'
    | 'maxStoredRecordBytes'
    | 'allowClearAllSpaces'
    | 'loginTokenSecret'
    | 'loginTokenTtl'
    | 'publicUrl'
    | 'readMaxRows'
    | 'readLimits'
    | 'dataDir'
    | 'recordCacheBytes'
    | 'maxImportBytes'
    | 'liveMaxStreams'
    | 'liveMaxTokenStreams'
  >;
  readonly store: WritableStore;
  readonly events: RecordEvents;
  readonly now: () => number;
  /** Of logins. */
  readonly throttle: Throttle;
  readonly reservations: UniqueReservations;
  readonly usage: Pick<UsageCounts, 'add' | 'of'>;
  readonly files: StoredFiles;
}

function operationNamed(name: string): Operation {
  return operations.find((operation) => operation.name === name) as Operation;
}

/** The routes of the query service. */
export function queryRoutes(args: QueryDeps): Route[] {
  return queryParts(args).routes;
}

/** The same, with the parts that have to be closed. */
function queryParts(args: QueryDeps): {
  readonly routes: Route[];
  readonly imports: Imports;
  readonly tables: FileTables;
  readonly live: LiveStreams;
} {
  const { config, store } = args;
  const { descriptions } = cacheShares(config.recordCacheBytes);
  const keys = createStoredKeys({ ...args, db: store.db });
  const deps = {
    ...args,
    structures: new StructureCache({
      scopes,
      bytes: descriptions * structureShare,
      counts: args.metrics.cache('structures'),
    }),
    newId: createUuidV7(),
    writes: new InFlightWrites(),
    loginTokens: createLoginTokens({
      keys: config.loginTokenSecret === undefined ? keys : createConfiguredKeys(config.loginTokenSecret),
      ttl: config.loginTokenTtl,
    }),
  };
  const cost = { maxRows: config.readMaxRows, timeout: config.readLimits.timeout };
  const candidates = new Candidates({ store, checks: new HashChecks(args), cost });
  const reads = { store, candidates, cost, count: args.metrics.reads() };
  const reading = {
    ...deps,
    candidates,
    reader: new RecordReader(reads),
    exports: new RecordExports(reads),
  };
  const knownBytes = Math.floor(descriptions * (1 - structureShare));
  const spaces = new Spaces({ ...deps, maxSpaces: config.maxSpaces, knownBytes });
  const { maxStoredRecordBytes: limit } = config;
  const count = (account: string, signal: AbortSignal) => countRecordBytes(deps, account, signal);
  const quota = limit === 0 ? null : new RecordQuota({ limit, count, log: args.log });
  const counted = quota === null ? store : quotaWrites(store, quota);
  // a write that is not acknowledged calls no webhook
  const writes = new AnnouncedWrites(
    store.singleWriter ? counted : currentWrites(counted, spaces),
    args.events,
  );
  const authorize = createAuthorize({ ...reading, spaces });
  const boundSpaces = new BoundSpaces({ ...reading, spaces });
  const { bind } = boundSpaces;
  const opening = {
    ...reading,
    ...{ spaces, authorize, bind, allowClear: config.allowClearAllSpaces },
    clear: operationNamed('clear'),
  };
  const openSpace = createOpenSpace(opening);
  const again = { authenticate: args.authenticateAgain };
  const live = new LiveStreams({
    ...{ ...reading, ...again },
    openSpace: createOpenSpace({ ...opening, ...again }),
  });
  const { structures } = deps;
  const watching = { live, openSpace, structures, operation: operationNamed('find') };
  const addresses = new LiveAddresses({ ...args, keyOf: createKeyedHash(keys, 'sluice live address 1') });
  const records = new RecordInserts({ ...reading, writes });
  const changes = new RecordChanges({ ...deps, writes });
  const imports = new Imports({
    ...{ ...reading, records, changes, spaces, quota, db: store.db },
    ...{ folder: join(config.dataDir, 'imports'), mostBytes: config.maxImportBytes },
    largestRecord: config.maxRecordBytes,
  });
  const operationDeps: OperationDeps = {
    ...{ ...reading, addresses },
    live: (request, asked) => liveAnswer(watching, request, { request: new LiveRequest(request), asked }),
    spaces,
    imports,
    authorize,
    bind,
    records,
    changes,
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
  const tables = new FileTables({ ...args, limits: config.readLimits });
  const others = [
    liveRoute({ ...watching, addresses }, describeOperation(operationNamed('liveAddress'), model)),
    ...jobRoutes({ ...args, imports }),
    ...usageRoutes(args),
    ...fileRoutes({ ...args, tables }),
  ];
  const projects = projectRoutes({ ...reading, spaces, boundSpaces });
  return { routes: [...recordRoutes, ...projects, ...others], imports, tables, live };
}
