import { join } from 'node:path';
import { openLoginTokens } from '#auth/login-tokens.ts';
import { createMailTokens } from '#auth/mail-tokens.ts';
import { OidcClients } from '#auth/oidc-clients.ts';
import { createSealedTexts } from '#auth/sealed-texts.ts';
import type { SharedLoginStates } from '#auth/shared-login-states.ts';
import { createKeyedHash, createStoredKeys } from '#auth/signing-keys.ts';
import type { SingleUses } from '#auth/single-uses.ts';
import type { RemovePart } from '#catalogue/account-removals.ts';
import { FileUses } from '#catalogue/file-uses/file-uses.ts';
import type { UsageCounts } from '#catalogue/usage-counts.ts';
import type { RedisConnection } from '#coordination/redis/redis-connection.ts';
import type { Config } from '#kernel/config/read-config.ts';
import { createGuardedFetch } from '#kernel/http-client/guarded-fetch.ts';
import { createFindAddress } from '#kernel/http-client/network-guard.ts';
import { createUuidV7 } from '#kernel/ids/uuid-v7.ts';
import type { AdmitMail, Mails } from '#kernel/record-events/mail.ts';
import type { RecordEvents } from '#kernel/record-events/record-event.ts';
import type { Metrics } from '#kernel/telemetry/create-metrics.ts';
import type { ProcessServices } from '#process/lifecycle/service.ts';
import { AnnouncedWrites } from '#records/announced-writes.ts';
import { Candidates } from '#records/candidates.ts';
import { HashChecks, type Throttle } from '#records/hash-checks.ts';
import { RecordChanges } from '#records/record-changes.ts';
import { RecordExports } from '#records/record-exports.ts';
import type { RecordFiles } from '#records/record-files.ts';
import { RecordInserts } from '#records/record-inserts.ts';
import { quotaWrites, RecordQuota } from '#records/record-quota.ts';
import { RecordReader } from '#records/record-reader.ts';
import { cacheShares } from '#records/store/cache-shares.ts';
import type { WritableStore } from '#records/store/record-store.ts';
import type { UniqueReservations } from '#records/unique/unique-reservations.ts';
import { createHostCookie } from '#server/http/host-cookie.ts';
import type { Route } from '#server/http/http-types.ts';
import { FileSweep } from './file-fields/file-sweep.ts';
import { NamedFiles } from './file-fields/named-files.ts';
import { OpenUses } from './file-fields/open-uses.ts';
import { fileRoutes } from './files/file-routes.ts';
import { FileTables } from './files/file-tables.ts';
import { Imports } from './imports/jobs/imports.ts';
import { jobRoutes } from './imports/jobs/job-routes.ts';
import type { StoredFiles } from './imports/jobs/stored-files.ts';
import { acceptQuery } from './input/query-media-type.ts';
import { StructureCache } from './input/structure-cache.ts';
import { LiveAddresses } from './live/live-addresses.ts';
import { LiveRequest } from './live/live-request.ts';
import { liveAnswer, liveRoute } from './live/live-route.ts';
import { LiveStreams } from './live/live-streams.ts';
import { createAuthorize } from './login/authorize.ts';
import { BoundSpaces } from './login/bound-spaces.ts';
import { MailLimits } from './login/mail-limits.ts';
import { callbackPath, loginLifetime, OidcLogins, startPath } from './login/oidc-logins.ts';
import { OidcSettingsTable } from './login/oidc-settings.ts';
import type { FileRulesParts } from './login/project-file-rules.ts';
import { sharingLogins } from './login/shared-logins.ts';
import { createMakeMail } from './login/sign-up-mails.ts';
import { SignUpUsers } from './login/sign-up-users.ts';
import { SignUps } from './login/sign-ups.ts';
import type { SpaceRulesParts } from './login/space-rules.ts';
import { describeOperation } from './openapi/describe-operation.ts';
import { describeSpace } from './openapi/space-document.ts';
import { anySpace } from './openapi/space-model.ts';
import type { Operation, QueryParts } from './operations/operation.ts';
import { operationRoute } from './operations/operation-route.ts';
import { operations, scopes } from './operations.ts';
import { projectRoutes } from './projects/project-routes.ts';
import { removeRecords } from './projects/remove-records.ts';
import { currentWrites } from './space/current-writes.ts';
import { InFlightWrites } from './space/in-flight-writes.ts';
import { createOpenSpace, storesRecords } from './space/open-space.ts';
import { countRecordBytes } from './space/space-figures.ts';
import { Spaces } from './space/spaces.ts';
import type { SpacesParts } from './space/spaces-deps.ts';
import { usageRoutes } from './usage/usage-route.ts';

/** Share of structures that requests bring; a space with its stored structure takes less. */
const structureShare = 5 / 8;

/** What the query service works with: the services of its process, and its stores. */
export interface QueryEnvironment
  extends Omit<SpacesParts, 'newId' | 'writes' | 'maxSpaces' | 'knownBytes' | 'metrics' | 'log'>,
    Pick<ProcessServices, 'database' | 'authenticate' | 'authenticateAgain' | 'fileSenders' | 'log'> {
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
    | 'mailsPerHour'
    | 'publicUrl'
    | 'readMaxRows'
    | 'readLimits'
    | 'dataDir'
    | 'recordCacheBytes'
    | 'maxImportBytes'
    | 'liveMaxStreams'
    | 'liveMaxTokenStreams'
    | 'webhookPrivateNetworks'
    | 'fileLinks'
    | 'imagePresets'
    | 'tls'
  >;
  readonly store: WritableStore;
  readonly events: RecordEvents & Mails;
  /** For the limits of mails; absent: this process counts by itself. */
  readonly redis?: RedisConnection | undefined;
  readonly now: () => number;
  /** Slows down guesses of passwords. */
  readonly throttle: Throttle;
  readonly reservations: UniqueReservations;
  readonly usage: Pick<UsageCounts, 'add' | 'of'>;
  readonly files: StoredFiles;
  /** Of this server, for browsers, without trailing slash. */
  readonly baseUrl: () => string;
  readonly uses: SingleUses;
  /** Absent: no other process needs to learn of ended logins. */
  readonly loginStates?: SharedLoginStates | undefined;
}

/** Uses of files by records, and what works them off. */
export interface FileFields {
  readonly uses: FileUses;
  readonly named: NamedFiles;
  readonly sweep: FileSweep;
}

function operationNamed(name: string): Operation {
  return operations.find((operation) => operation.name === name) as Operation;
}

/** The routes of the query service. */
export function queryRoutes(environment: QueryEnvironment): Route[] {
  return queryParts(environment).routes;
}

interface OpenedParts {
  readonly routes: Route[];
  readonly imports: Imports;
  readonly tables: FileTables;
  readonly live: LiveStreams;
  readonly fileFields: FileFields;
  /** Removes what is here of a deleted account. */
  readonly remove: RemovePart;
}

/** The same, with the parts that have to be closed. */
export function queryParts(environment: QueryEnvironment): OpenedParts {
  const { config, store, database, catalogue, projects, authenticate, authenticateAgain } = environment;
  const { events, fileSenders, files, hasher, log, metrics, now, reservations, usage } = environment;
  const reading = readingParts(environment);
  const { structures, newId, inFlight, keys, loginTokens, candidates, reader, exports } = reading;
  const { spaces, authorize, boundSpaces, quota } = reading;
  fileSenders.askForUsers(boundSpaces.hasUser);
  const fileFields = openFileFields(environment, reading);
  const recordFiles = fileFields.named;
  const { records, changes, signUps } = writingParts(environment, reading, recordFiles);
  const opening = {
    store,
    authenticate,
    authorize,
    bind: boundSpaces.bind,
    structures,
    spaces,
    catalogue,
    writes: inFlight,
    recordFiles,
    clear: operationNamed('clear'),
    allowClear: config.allowClearAllSpaces,
  };
  const openSpace = createOpenSpace(opening);
  const live = new LiveStreams({
    store,
    reader,
    authenticate: authenticateAgain,
    openSpace: createOpenSpace({ ...opening, authenticate: authenticateAgain }),
    config,
    log,
    metrics,
  });
  const liveFinds = { live, openSpace, structures, operation: operationNamed('find') };
  const addresses = new LiveAddresses({ keyOf: createKeyedHash(keys, 'sluice live address 1'), now });
  const imports = new Imports({
    store,
    db: store.db,
    database,
    reader,
    records,
    changes,
    recordFiles,
    spaces,
    writes: inFlight,
    structures,
    reservations,
    hasher,
    quota,
    usage,
    log,
    newId,
    now,
    folder: join(config.dataDir, 'imports'),
    mostBytes: config.maxImportBytes,
    largestRecord: config.maxRecordBytes,
  });
  const { oidc, oidcSettings } = oidcParts(environment, keys);
  const parts: QueryParts = {
    oidc,
    spaces,
    authorize,
    bind: boundSpaces.bind,
    store,
    reader,
    exports,
    records,
    changes,
    recordFiles,
    imports,
    files,
    structures,
    loginTokens,
    candidates,
    signUps,
    events,
    live: (request, asked) => liveAnswer(liveFinds, request, { request: new LiveRequest(request), asked }),
    addresses,
    describeSpace: (structure) => describeSpace(operations, structure, config.publicUrl ?? '/'),
  };
  const dropping = { store, catalogue, projects, spaces, writes: inFlight, recordFiles, log };
  const tables = new FileTables({ files, limits: config.readLimits, log });
  const liveOperation = describeOperation(operationNamed('liveAddress'), anySpace(scopes));
  const routes = [
    ...recordRoutes({ config, authenticate, openSpace, usage }, parts, inFlight),
    ...projectRoutes({
      ...{ ...dropping, ...warningFacts(environment) },
      ...{ authenticate, boundSpaces, reader, oidcSettings, imagePresets: config.imagePresets },
    }),
    ...oidcRoutes(oidc),
    liveRoute({ ...liveFinds, addresses }, liveOperation),
    ...jobRoutes({ authenticate, imports }),
    ...usageRoutes({ authenticate, usage }),
    ...fileRoutes({ authenticate: fileSenders.authenticate, projects, files, tables, config }),
  ];
  const remove = removeRecords({ ...dropping, imports, oidcSettings, fileUses: fileFields.uses });
  return { routes, imports, tables, live, fileFields, remove };
}

/** What warnings about rules are drawn from. */
function warningFacts({
  config,
  events,
}: QueryEnvironment): Pick<SpaceRulesParts, 'mailSettings'> & Pick<FileRulesParts, 'hasPublicLinks'> {
  const findAddress = createFindAddress(config.webhookPrivateNetworks);
  return {
    mailSettings: { hasSmtp: events.hasSmtp, findAddress },
    hasPublicLinks: config.fileLinks === 'public',
  };
}

/** What FILE fields need. */
function openFileFields(
  { store, database, projects, log }: QueryEnvironment,
  { spaces }: Pick<ReturnType<typeof readingParts>, 'spaces'>,
): FileFields {
  const uses = new FileUses({ db: store.db, database });
  const open = new OpenUses();
  const deleteCondemned = (): void => projects.files.deleteCondemned?.();
  const sweep = new FileSweep({ uses, store, spaces, open, deleteCondemned, log });
  return { uses, named: new NamedFiles({ uses, projects, open, sweep, log }), sweep };
}

/** Logins by OpenID Connect, and their settings. */
function oidcParts(
  { catalogue, config, database, store, uses, baseUrl, now, log }: QueryEnvironment,
  keys: ReturnType<typeof createStoredKeys>,
) {
  const sealed = createSealedTexts(keys);
  const oidcSettings = new OidcSettingsTable({ db: store.db, database, sealed });
  const oidc = new OidcLogins({
    ...{ catalogue, settings: oidcSettings, sealed, uses, baseUrl, now, log },
    clients: new OidcClients(createGuardedFetch(createFindAddress(config.webhookPrivateNetworks))),
    cookie: createHostCookie({
      name: 'sluice_oidc',
      lifetime: loginLifetime,
      tls: config.tls !== undefined,
    }),
  });
  return { oidc, oidcSettings };
}

/** The steps that a browser opens. They need no token, and are no part of the description of the API. */
function oidcRoutes(oidc: OidcLogins): Route[] {
  return [
    {
      ...{ operation: 'openOidcLogin', method: 'GET', path: startPath, withoutCors: true },
      handler: (request) => oidc.open(request),
    },
    {
      ...{ operation: 'finishOidcLogin', method: 'GET', path: callbackPath, withoutCors: true },
      handler: (request) => oidc.callback(request),
    },
  ];
}

/** The parts that writes need: reads of records, spaces, and who may do what in them. */
function readingParts(environment: QueryEnvironment) {
  const { config, store, catalogue, database, hasher, metrics, log } = environment;
  const { descriptions } = cacheShares(config.recordCacheBytes);
  const structures = new StructureCache({
    scopes,
    bytes: descriptions * structureShare,
    counts: metrics.cache('structures'),
  });
  const newId = createUuidV7();
  const inFlight = new InFlightWrites();
  const keys = createStoredKeys({ db: store.db, database });
  const loginTokens = openLoginTokens(config, keys);
  const cost = { maxRows: config.readMaxRows, timeout: config.readLimits.timeout };
  const checks = new HashChecks({ hasher, throttle: environment.throttle });
  const candidates = new Candidates({ store, checks, cost });
  const reads = { store, candidates, cost, count: metrics.reads() };
  const reader = new RecordReader(reads);
  const exports = new RecordExports(reads);
  const spaces = new Spaces({
    store,
    catalogue,
    projects: environment.projects,
    hasher,
    newId,
    writes: inFlight,
    maxSpaces: config.maxSpaces,
    knownBytes: Math.floor(descriptions * (1 - structureShare)),
    log,
    invalidation: environment.invalidation,
    freshness: environment.freshness,
    metrics,
    fileLinks: environment.fileLinks,
  });
  const authorize = createAuthorize({ loginTokens, store, spaces });
  const boundSpaces = new BoundSpaces({ loginTokens, store, reader, spaces, now: environment.now });
  const quota = openQuota(environment);
  return {
    structures,
    newId,
    inFlight,
    keys,
    loginTokens,
    candidates,
    reader,
    exports,
    spaces,
    authorize,
    boundSpaces,
    quota,
  };
}

/** What writes records of requests. Neither goes past the quota and the webhooks. */
function writingParts(
  environment: QueryEnvironment,
  reading: ReturnType<typeof readingParts>,
  files: RecordFiles,
) {
  const { store, events, hasher, reservations, now, loginStates } = environment;
  const { reader, spaces, quota, newId } = reading;
  const counted = quota === null ? store : quotaWrites(store, quota);
  // a write that is not acknowledged calls no webhook
  const announced = new AnnouncedWrites(
    store.singleWriter ? counted : currentWrites(counted, spaces),
    events,
  );
  const writes = loginStates === undefined ? announced : sharingLogins(announced, loginStates);
  const records = new RecordInserts({ store, reader, hasher, reservations, writes, files, newId, now });
  const changes = new RecordChanges({ store, hasher, reservations, writes, files });
  return { records, changes, signUps: openSignUps(environment, reading, { records, changes }) };
}

/** Sign-up, and the mails that it promises. */
function openSignUps(
  { config, store, events, redis, throttle, log, now }: QueryEnvironment,
  { keys, candidates, spaces }: ReturnType<typeof readingParts>,
  writing: { readonly records: RecordInserts; readonly changes: RecordChanges },
): SignUps {
  const tokens = createMailTokens(createKeyedHash(keys, 'sluice mail token 1'), now);
  const users = new SignUpUsers({ candidates, tokens, throttle });
  const keyOf = createKeyedHash(keys, 'sluice mail limits 1');
  const limits = new MailLimits({ redis, log, keyOf, perHour: config.mailsPerHour, now });
  const admit: AdmitMail = ({ ownerId, spaceId, address }) =>
    limits.admit({ ownerId, spaceId, address, sender: null });
  events.makeMails(createMakeMail({ spaces, users, tokens }), admit);
  return new SignUps({ ...writing, spaces, store, users, limits, mails: events });
}

/** Null: accounts may store any number of bytes. */
function openQuota({ config, store, catalogue, log }: QueryEnvironment): RecordQuota | null {
  const { maxStoredRecordBytes: limit } = config;
  if (limit === 0) return null;
  const count = (account: string, signal: AbortSignal): Promise<number> =>
    countRecordBytes({ store, catalogue }, account, signal);
  return new RecordQuota({ limit, count, log });
}

/** The routes of the table of operations. */
function recordRoutes(
  opening: Parameters<typeof operationRoute>[1],
  parts: QueryParts,
  inFlight: InFlightWrites,
): Route[] {
  const model = anySpace(scopes);
  return operations.flatMap((operation) => {
    const route = operationRoute(operation, opening, parts);
    const handler = storesRecords(operation) ? inFlight.tracked(route.handler) : route.handler;
    const routes: Route[] = [{ ...route, handler, api: describeOperation(operation, model) }];
    for (const other of operation.also ?? []) {
      const api = describeOperation(operation, model, other);
      const also = { ...route, ...other, handler, api };
      routes.push(other.method === 'QUERY' ? { ...also, optionsHeaders: acceptQuery } : also);
    }
    return routes;
  });
}
