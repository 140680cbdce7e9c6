import { createHasher } from '#auth/hasher.ts';
import { openLoginThrottle } from '#auth/open-login-throttle.ts';
import { openSingleUses } from '#auth/single-uses.ts';
import type { Mails } from '#kernel/record-events/mail.ts';
import type { RecordEvents } from '#kernel/record-events/record-event.ts';
import { openObjectStore } from '#objects/open-object-store.ts';
import type { Examples } from '#process/lifecycle/first-start-text.ts';
import type { ProcessServices, Service, ServiceFactory } from '#process/lifecycle/service.ts';
import { sweepReceipts } from '#records/keyed-insert.ts';
import type { WritableStore } from '#records/store/record-store.ts';
import { EmbeddedStore } from '#records/store-embedded/embedded-store.ts';
import { exampleStructure } from '#records/structure/example-structure.ts';
import { createLocalReservations, type UniqueReservations } from '#records/unique/unique-reservations.ts';
import { fileLinks } from './file-fields/file-links.ts';
import { StoredFiles } from './imports/jobs/stored-files.ts';
import { queryParts } from './query-parts.ts';
import { openCatalogue } from './space/logged-catalogue.ts';
import { sweepLeft } from './space/removals.ts';
import { makeSpaceViews, type ViewsOrder } from './space/space-views.ts';
import { freshnessOf } from './space/spaces-deps.ts';

/** The carrier of events, opened for a process, with routes of its own. */
type OpenEvents = (
  services: ProcessServices,
) => Promise<RecordEvents & Mails & Pick<Service, 'routes' | 'close'>>;

/** How often receipts of inserts are swept. Milliseconds. */
const sweepEvery = 3_600_000;
/** Milliseconds for reading what an earlier process left. */
const adoptTimeout = 30_000;

const examples: Examples = (curl, baseUrl) => `Insert records:
${curl} -H 'structure: ${JSON.stringify(exampleStructure)}' -H 'Content-Type: application/json' -d '[{"name":"Ada","age":36},{"name":"Grace","age":45}]' ${baseUrl}/demo/people

Find records:
${curl} -H 'structure: ${JSON.stringify(exampleStructure)}' '${baseUrl}/demo/people?age=36'
`;

/** The query service on the stores of its process. @param openEvents opens the receiver of writes */
export const queryService =
  (openEvents: OpenEvents): ServiceFactory =>
  async (services, baseUrl) => {
    const { log } = services;
    const opened = await openEnvironment(services, openEvents, baseUrl);
    const environment = { ...opened, baseUrl };
    const { catalogue, store, reservations, events, files } = environment;
    const closing = new AbortController();
    let sweeping: NodeJS.Timeout | undefined;
    const { routes, imports, tables, live, fileFields, remove } = queryParts(environment);
    services.removals.add('records', remove);
    await imports.open();
    await fileFields.sweep.adopt(AbortSignal.timeout(adoptTimeout));
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
        fileFields.sweep.start();
        void sweepLeft({ store, catalogue, log }, closing.signal).then(sweep);
      },
      draining: () => live.drain(),
      commands: { 'sql-views': (order) => makeSpaceViews({ ...services, catalogue }, order as ViewsOrder) },
      async close() {
        clearInterval(sweeping);
        closing.abort(new Error('the server stops'));
        await live.close();
        await imports.close();
        await fileFields.sweep.close();
        await tables.close();
        await files.close();
        await events.close();
        await reservations.close();
        await store.close();
        await catalogue.close();
      },
    };
  };

/** Opens the stores of the service, most of which it closes again. */
async function openEnvironment(services: ProcessServices, openEvents: OpenEvents, baseUrl: () => string) {
  const { redis, log, config } = services;
  if (redis === undefined && config.clickhouse !== undefined) {
    log.warn('without REDIS_URL, values of unique fields are kept apart within this process only');
  }
  const catalogue = await openCatalogue(services);
  const everUsed = async (signal: AbortSignal): Promise<boolean> => !(await catalogue.isEmpty(signal));
  const reservations = await openReservations(services, everUsed);
  const throttle = await openLoginThrottle(services);
  const store = await openStore(services);
  const events = await openEvents(services);
  const files = new StoredFiles({
    deploymentId: services.deployment.id,
    open: async () => (await openObjectStore(config, log)).store,
  });
  return {
    config,
    database: services.database,
    projects: services.projects,
    invalidation: services.invalidation,
    authenticate: services.authenticate,
    authenticateAgain: services.authenticateAgain,
    fileSenders: services.fileSenders,
    loginStates: services.loginStates,
    usage: services.usage,
    metrics: services.metrics,
    redis,
    log,
    store,
    catalogue,
    freshness: freshnessOf(store, services.invalidation),
    files,
    fileLinks: await fileLinks({ config, baseUrl, deploymentId: services.deployment.id }),
    events,
    reservations,
    throttle,
    hasher: createHasher(),
    now: Date.now,
    uses: openSingleUses(services.redis),
  };
}

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
