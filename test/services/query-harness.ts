import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { assertGranted, type Principal } from '#auth/authenticate.ts';
import { LoginThrottle } from '#auth/login-throttle.ts';
import { OwnUses } from '#auth/single-uses.ts';
import type { RemovePart } from '#catalogue/account-removals.ts';
import { openDeployment } from '#catalogue/deployment.ts';
import { migrate } from '#catalogue/migrate.ts';
import { migrations } from '#catalogue/migrations.ts';
import { Projects } from '#catalogue/projects.ts';
import { ClickhouseStores } from '#catalogue/stores/clickhouse-stores.ts';
import { UsageCounts } from '#catalogue/usage-counts.ts';
import { type Invalidation, unannounced } from '#coordination/redis/invalidation.ts';
import { countStatements } from '#engine/count-statements.ts';
import type { Database } from '#engine/database.ts';
import { openChdb } from '#engine/open-chdb.ts';
import { webhookRoutes } from '#events/webhook-routes.ts';
import { Webhooks, type WebhooksDeps } from '#events/webhooks.ts';
import { notGranted } from '#kernel/errors/catalogue.ts';
import { renderError, visibleError } from '#kernel/errors/render-error.ts';
import { unmeasured } from '#kernel/telemetry/create-metrics.ts';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import type { FileSweep } from '#query/file-fields/file-sweep.ts';
import { StoredFiles } from '#query/imports/jobs/stored-files.ts';
import type { QueryEnvironment } from '#query/query-environment.ts';
import { queryParts } from '#query/query-parts.ts';
import { LoggedCatalogue } from '#query/space/logged-catalogue.ts';
import { freshnessOf } from '#query/space/spaces-deps.ts';
import { TableCatalogue } from '#query/space/table-catalogue.ts';
import { MemoryTables } from '#records/memory/memory-tables.ts';
import { RecordsTable } from '#records/sql/records-table.ts';
import type { WritableStore } from '#records/store/record-store.ts';
import { EmbeddedStore } from '#records/store-embedded/embedded-store.ts';
import { KnownRecords } from '#records/store-embedded/known-records.ts';
import { PendingRecords } from '#records/store-embedded/pending-records.ts';
import { ResultCache } from '#records/store-embedded/result-cache.ts';
import { SpacePreloads } from '#records/store-embedded/space-preloads.ts';
import { SharedStore } from '#records/store-shared/shared-store.ts';
import { noVersions, type SpaceVersions } from '#records/store-shared/space-versions.ts';
import { createLocalReservations } from '#records/unique/unique-reservations.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { parseQueryString } from '#server/http/query-string.ts';
import { Router } from '#server/http/router.ts';
import { queryContract } from './contract.ts';
import { fakeRequest, responseBytes } from './fake-request.ts';
import { testDeployment } from './new-file.ts';
import { queryConfig } from './plain-store.ts';
import { quickHasher } from './quick-hasher.ts';
import { type FieldInput, structureOf } from './record-client.ts';
import { sendersFor } from './senders-for.ts';
import { silentLog } from './silent-log.ts';
import { guardSpaces } from './space-guard.ts';
import { type ClickhouseProcess, startClickhouse } from './start-clickhouse.ts';
import { openTestClickhouse } from './test-clickhouse.ts';

export interface QueryAnswer {
  readonly status: number;
  /** Machine code of an error; null for an answer. */
  readonly code: string | null;
  readonly problems: readonly string[];
  // biome-ignore lint/suspicious/noExplicitAny: answers are JSON of any shape, which each test looks into
  readonly body: any;
  readonly text: string;
}

export interface QueryCall {
  /** Absent: POST with a body, GET without. */
  readonly method?: string;
  readonly path: string;
  readonly structure?: string;
  /** After the question mark. */
  readonly query?: string | readonly (readonly [string, string])[];
  readonly headers?: Record<string, string>;
  /** JSON text, or a value to be sent as JSON. */
  readonly body?: unknown;
  readonly owner?: string;
  /** Of the sender. */
  readonly address?: string;
  readonly signal?: AbortSignal;
}

/** `npm test` with SLUICE_TEST_SERVED=1: the engine is a ClickHouse server; with 2: two stores, each a server. */
const served = process.env.SLUICE_TEST_SERVED;

/** An answer, for `t.match`, to a request that is not right. */
export function refusal(code: string, ...problems: readonly (string | RegExp)[]) {
  return { status: 400, code, ...(problems.length > 0 && { problems }) };
}

/** The query service's routes over a real engine, without a server before them. */
export interface QueryHarness {
  readonly db: Database;
  readonly dataDir: string;
  /** Of the routes that `call` uses. */
  readonly store: WritableStore;
  readonly catalogue: TableCatalogue;
  call(call: QueryCall): Promise<QueryAnswer>;
  /** The same, with the answer's body untouched. Throws what the handler throws. */
  respond(call: QueryCall): Promise<HttpResponse>;
  /** Fresh routes, with empty caches, over the same engine. */
  forget(): void;
  /** Ages what is known of uses of files, and sweeps (query/file-fields). */
  sweep(): Promise<void>;
  /** Removes what records and webhooks have of a deleted account. */
  readonly removeAccount: RemovePart;
  /** Routes with caches of their own beside the others, as a second process on one database has them. */
  another(): Pick<QueryHarness, 'call'>;
  /** Closes the engine, and starts anew on the same directory. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export const testDatabase = 'sluice';

/** Senders of requests with a publishable token, each as often as it was counted. */
export const admitted: string[] = [];

const authenticate: QueryEnvironment['authenticate'] = async (request, ruled) => {
  const [limits, grants] = ['test-limits', 'test-grants'].map((name) => request.header(name) ?? '');
  const principal: Principal = {
    userId: request.header('test-owner') ?? 'owner',
    tokenId: 't',
    ...(limits && { limits: JSON.parse(limits) }),
    ...(grants && { grants: JSON.parse(grants) }),
  };
  assertGranted(principal.grants, request.needs, request.params, request.header('test-session') === 'yes');
  if (principal.grants?.publishable && ruled === undefined) throw notGranted('it is publishable');
  if (!principal.grants?.publishable) return principal;
  return { ...principal, admit: (sender) => void admitted.push(sender) };
};

/** Webhooks that are not started: they send what they hear of, and adopt nothing. */
export function testWebhooks(
  deps: { db: Database; singleWriter: boolean } & Partial<WebhooksDeps>,
): Webhooks {
  const usual = { contentShare: 2 ** 28, allowed: undefined, log: silentLog(), metrics: unmeasured };
  return new Webhooks({ database: testDatabase, ...usual, ...deps });
}

export async function openQueryHarness(
  options: {
    config?: Partial<QueryEnvironment['config']>;
    /** Bytes of answers that are kept. */
    resultBytes?: number;
    hasher?: QueryEnvironment['hasher'];
    throttle?: QueryEnvironment['throttle'];
    redis?: QueryEnvironment['redis'];
    /** Whether the routes are to take the store for theirs alone; absent: where it is embedded. */
    singleWriter?: boolean;
    /** What differs from the usual write-ahead log of records, and rows in memory. */
    pending?: Partial<Parameters<typeof PendingRecords.open>[0]> & {
      cacheBytes?: number;
      fewestMisses?: number;
    };
    /** Another store than the usual ones. */
    store?: (engine: { db: Database; database: string }) => WritableStore;
    /** What the routes keep results in. */
    cache?: () => ResultCache;
    /** What the routes, and each of `another`, reserve values of unique fields with; absent: memory of their own. */
    reservations?: () => QueryEnvironment['reservations'];
    /** What differs from the usual. */
    freshness?: Partial<QueryEnvironment['freshness']>;
    now?: () => number;
    /** Opens another engine than the usual one, on a directory of its own. */
    open?: (dataDir: string) => Promise<Database>;
    /** What the routes, and each of `another`, know of each other; absent: nothing. */
    invalidation?: () => Invalidation | undefined;
    /** What the routes, and each of `another`, know of each other's writes; absent: nothing, and they keep no results. */
    versions?: (db: Database) => SpaceVersions;
    metrics?: typeof unmeasured;
    /** What hears of writes; absent: webhooks that reach no private network. */
    webhooks?: (db: Database) => Webhooks;
    /** Puts something between the service and the engine. */
    wrap?: (db: Database) => Database;
  } = {},
): Promise<QueryHarness> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-query-'));
  const singleWriter = options.singleWriter ?? (served === undefined && options.open === undefined);
  const wrap = options.wrap ?? ((db) => db);
  let db: Database;
  let stores: ClickhouseStores | null = null;
  let router: Router;
  let fileSweep: FileSweep;
  let removeAccount: RemovePart;
  let written: { known: KnownRecords; pending: PendingRecords; preloads: SpacePreloads } | undefined;
  let store: WritableStore;
  let catalogue: TableCatalogue;

  const { resultBytes = 16 * 1024 ** 2, metrics = unmeasured } = options;
  const log = silentLog();
  const openStore = (): WritableStore => {
    const engine = { db: guardSpaces(wrap(db)), database: testDatabase, metrics, log };
    if (options.store !== undefined) return options.store(engine);
    const versions = options.versions?.(db);
    const cacheBytes = versions === undefined ? 0 : resultBytes;
    if (written === undefined)
      return new SharedStore({ ...engine, versions: versions ?? noVersions, cacheBytes });
    const results = options.cache?.() ?? new ResultCache(resultBytes / 4, metrics.cache('records'));
    const embedded = new EmbeddedStore({ ...engine, ...written, results });
    embedded.started();
    return embedded;
  };
  const openRouter = (by: WritableStore): Router => {
    const invalidation = options.invalidation?.() ?? unannounced;
    const projects = new Projects({
      db,
      database: testDatabase,
      singleWriter,
      invalidation,
      ...(options.freshness?.staleAfter === undefined ? {} : { knownFor: options.freshness.staleAfter }),
    });
    const events = options.webhooks?.(db) ?? testWebhooks({ db: wrap(db), singleWriter });
    const parts = queryParts({
      config: { ...queryConfig, dataDir, ...options.config },
      database: testDatabase,
      store: by,
      catalogue,
      projects,
      authenticate,
      authenticateAgain: authenticate,
      fileSenders: sendersFor({ authenticate, projects, db, database: testDatabase }),
      events,
      files: new StoredFiles({
        deploymentId: testDeployment,
        open: () => createFileSystemStore({ root: join(dataDir, 'files') }),
      }),
      fileLinks: ({ projectSlug }) => `http://files.test/_f_/${projectSlug}/`,
      metrics,
      log,
      invalidation: invalidation ?? unannounced,
      throttle: options.throttle ?? new LoginThrottle(),
      redis: options.redis,
      hasher: options.hasher ?? quickHasher(),
      reservations: options.reservations?.() ?? createLocalReservations(),
      freshness: { ...freshnessOf(by, invalidation), ...options.freshness },
      now: options.now ?? Date.now,
      usage: new UsageCounts({ db, database: testDatabase, log }),
      uses: new OwnUses(),
      baseUrl: () => 'http://127.0.0.1:8080',
    });
    fileSweep = parts.fileFields.sweep;
    removeAccount = async (id, stop, isLast) => {
      await parts.remove(id, stop, isLast);
      await events.removeAll(id, stop);
    };
    return new Router([...parts.routes, ...webhookRoutes({ webhooks: events, authenticate })]);
  };
  const forget = (): void => {
    store = openStore();
    router = openRouter(store);
  };
  let servers: ClickhouseProcess[] = [];
  const openDatabase = async (): Promise<Database> => {
    if (options.open !== undefined) return options.open(dataDir);
    if (served === undefined) return openChdb({ path: join(dataDir, 'chdb') });
    servers = await Promise.all(
      Array.from({ length: Number(served) }, (_, index) =>
        startClickhouse({ dataDir: join(dataDir, `server-${index}`) }),
      ),
    );
    const opened = servers.map(({ url }) => {
      const { host } = new URL(url);
      return { name: host, hosts: host, db: openTestClickhouse({ url }) };
    });
    stores = await ClickhouseStores.open(opened, { database: testDatabase, log }, new Set());
    return countStatements(stores);
  };
  const closeDatabase = async (): Promise<void> => {
    await written?.preloads.close();
    await written?.pending.close();
    await catalogue.close();
    await db.close();
    for (const server of servers) await server.kill();
  };
  const open = async (): Promise<void> => {
    db = await openDatabase();
    await migrate(db, testDatabase, migrations);
    await stores?.join((await openDeployment({ db, database: testDatabase })).id, testDatabase);
    catalogue = new TableCatalogue({ db: wrap(db), database: testDatabase });
    if (singleWriter) {
      const guarded = guardSpaces(wrap(db));
      const table = new RecordsTable(guarded, testDatabase);
      const directory = join(dataDir, 'record-log');
      const { cacheBytes = 8e6, fewestMisses, ...more } = options.pending ?? {};
      const { known = new KnownRecords(new MemoryTables(cacheBytes)) } = more;
      const records = { db: guarded, table, log, known };
      const pending = await PendingRecords.open({ ...records, directory, ...more });
      written = { known, pending, preloads: new SpacePreloads({ ...records, fewestMisses }) };
      catalogue = await LoggedCatalogue.open({
        db: wrap(db),
        database: testDatabase,
        log,
        directory: join(dataDir, 'catalogue-log'),
      });
    }
    forget();
  };
  await open();

  const respond = (call: QueryCall): Promise<HttpResponse> => respondBy(router, call);
  const respondBy = async (by: Router, call: QueryCall): Promise<HttpResponse> => {
    const method = call.method ?? (call.body === undefined ? 'GET' : 'POST');
    const { route, params } = by.match(method, call.path);
    const body = typeof call.body === 'string' ? call.body : JSON.stringify(call.body ?? null);
    const isFile = call.body instanceof Uint8Array;
    const bytes = isFile
      ? Buffer.from(call.body as Uint8Array)
      : Buffer.from(call.body === undefined ? '' : body);
    const request = fakeRequest({
      method,
      params,
      headers: {
        ...(call.structure === undefined ? {} : { structure: call.structure }),
        ...(call.owner === undefined ? {} : { 'test-owner': call.owner }),
        ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...call.headers,
      },
      chunks: bytes.byteLength === 0 ? [] : [bytes],
      contentLength: bytes.byteLength,
      ...(call.address === undefined ? {} : { address: call.address }),
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    });
    const query = typeof call.query === 'string' ? parseQueryString(call.query) : (call.query ?? []);
    // only equal queries have equal texts: half a surrogate pair can't be percent-encoded
    const rawQuery = typeof call.query === 'string' ? call.query : JSON.stringify(query);
    return route.handler({
      ...request,
      needs: route.api?.needs,
      query,
      rawQuery,
      path: call.path,
    });
  };

  const callBy = async (by: Router, call: QueryCall): Promise<QueryAnswer> => {
    try {
      const response = await respondBy(by, call);
      const text = (await responseBytes(response)).toString('utf8');
      const isFile = response.headers?.['content-disposition'] !== undefined;
      await keepsContract(call, { ...response, body: text });
      return {
        status: response.status,
        code: null,
        problems: [],
        body: text === '' || isFile ? null : JSON.parse(text),
        text,
      };
    } catch (thrown) {
      const error = visibleError(thrown);
      // what is hidden from clients is what a test must show
      if (error.status === 500 || thrown instanceof ContractError) throw thrown;
      const request = { path: call.path, id: 'request-1', accept: undefined };
      await keepsContract(call, { status: error.status, ...renderError(error, request) });
      return { status: error.status, code: error.code, problems: error.problems, body: null, text: '' };
    }
  };

  return {
    get db() {
      return afterCatalogue(db, catalogue);
    },
    get store() {
      return store;
    },
    get catalogue() {
      return catalogue;
    },
    dataDir,
    respond,
    forget,
    async sweep() {
      await fileSweep.idle();
      for (const [table, where] of [
        ['file_uses', '1'],
        ['file_drops', "kind = 'drop'"],
      ])
        await db.command({
          sql: `UPDATE ${testDatabase}.${table} SET at = at - INTERVAL 200 SECOND WHERE ${where}`,
          home: 'file_uses',
        });
      await fileSweep.workOffOld(AbortSignal.timeout(60_000));
    },
    removeAccount: (id, stop, isLast) => removeAccount(id, stop, isLast),
    call: (call) => callBy(router, call),
    another() {
      const by = openRouter(openStore());
      return { call: (call) => callBy(by, call) };
    },
    async restart() {
      await closeDatabase();
      await open();
    },
    async close() {
      await closeDatabase();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** The same, closed with the test. */
export async function queryHarnessFor(
  t: Pick<Test, 'teardown'>,
  options?: Parameters<typeof openQueryHarness>[0],
): Promise<QueryHarness> {
  const harness = await openQueryHarness(options);
  t.teardown(() => harness.close());
  return harness;
}

/** The same database, where a look at the catalogue's table finds what its log holds. */
function afterCatalogue(db: Database, catalogue: TableCatalogue): Database {
  return {
    ...db,
    async rows(statement) {
      if (statement.sql.includes('record_spaces')) await catalogue.settled(AbortSignal.timeout(30_000));
      return db.rows(statement);
    },
  };
}

class ContractError extends Error {}

/** Throws when an answer is not as /openapi.json describes it. */
async function keepsContract(call: QueryCall, answer: HttpResponse): Promise<void> {
  const contract = await queryContract();
  const problem = contract.problemOf({
    method: call.method ?? (call.body === undefined ? 'GET' : 'POST'),
    path: call.path,
    status: answer.status,
    // the server adds this one
    headers: { 'x-request-id': 'request-1', ...answer.headers },
    body: answer.body as string,
  });
  if (problem !== null) throw new ContractError(problem);
}

/** One space of a harness, with a structure to send along, or fields that make one. */
export function spaceOf(
  harness: Pick<QueryHarness, 'call'>,
  project: string,
  slug: string,
  fields: string | readonly FieldInput[],
  more: object = {},
) {
  const path = `/${project}/${slug}`;
  const structure = typeof fields === 'string' ? fields : structureOf(project, slug, fields, more);
  const optionsHeader = (options?: object | string): Record<string, string> =>
    options === undefined ? {} : { options: typeof options === 'string' ? options : JSON.stringify(options) };
  return {
    path,
    structure,
    /** Makes the space, which a read does not. */
    make: () => harness.call({ path: `${path}/set-structure`, body: structure }),
    insert: (body: unknown, headers: Record<string, string> = {}) =>
      harness.call({ path, structure, body, headers }),
    insertOne: (body: unknown, headers: Record<string, string> = {}) =>
      harness.call({ path: `${path}/_single_`, structure, body, headers }),
    find: (query: QueryCall['query'] = '', options?: object | string, headers: Record<string, string> = {}) =>
      harness.call({ path, structure, query, headers: { ...optionsHeader(options), ...headers } }),
    findOne: (query: QueryCall['query'] = '', options?: object | string) =>
      harness.call({
        path: `${path}/_single_`,
        structure,
        query,
        headers: optionsHeader(options),
      }),
    updateOne: (query: NonNullable<QueryCall['query']>, body: unknown, options?: object | string) =>
      harness.call({ path: `${path}/update`, structure, query, body, headers: optionsHeader(options) }),
    updateOneById: (id: string, body: unknown) =>
      harness.call({ path: `${path}/update-by-id`, structure, query: [['id', id]], body }),
    deleteOneById: (id: string) => harness.call({ method: 'DELETE', path, structure, query: [['id', id]] }),
    clear: () => harness.call({ method: 'DELETE', path: `${path}/clear-records`, structure }),
    search: (searchText: string, fields: readonly string[], options?: object | string) =>
      harness.call({
        path: `${path}/search`,
        structure,
        query: [['searchText', searchText], ...fields.map((name) => ['searchableFields[]', name] as const)],
        headers: optionsHeader(options),
      }),
    count: (query: QueryCall['query'] = '') => harness.call({ path: `${path}/_count_`, structure, query }),
    aggregate: (body: unknown) => harness.call({ path: `${path}/_aggregate_`, structure, body }),
    setKeys: (body: unknown) => harness.call({ path: `${path}/set-key-values`, structure, body }),
    getKeys: () => harness.call({ path: `${path}/get-key-values`, structure }),
  };
}
