import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Authenticate } from '#auth/authenticate.ts';
import { LoginThrottle } from '#auth/login-throttle.ts';
import { OwnUses } from '#auth/single-uses.ts';
import { FileMarks } from '#catalogue/file-uses/file-marks.ts';
import { FileUses } from '#catalogue/file-uses/file-uses.ts';
import { Projects } from '#catalogue/projects.ts';
import { UsageCounts } from '#catalogue/usage-counts.ts';
import type { RequestLimiter } from '#coordination/rate-limits/request-limiter.ts';
import { unannounced } from '#coordination/redis/invalidation.ts';
import { ownLocks } from '#coordination/redis/process-lock.ts';
import type { Database } from '#engine/database.ts';
import { webhookRoutes } from '#events/webhook-routes.ts';
import { FileTrash } from '#gateway/access/file-trash.ts';
import { noQuota } from '#gateway/access/storage-quota.ts';
import { UploadKeys } from '#gateway/access/upload-keys.ts';
import { UsedFiles } from '#gateway/access/used-files.ts';
import { draftFile } from '#gateway/files/file-draft.ts';
import { StateStore } from '#gateway/resumable/state-store.ts';
import {
  fileRefused,
  notReady,
  overloaded,
  queryTooExpensive,
  storageFull,
  unauthorized,
} from '#kernel/errors/catalogue.ts';
import type { Mail, MakeMail, PromisedMail } from '#kernel/record-events/mail.ts';
import { unmeasured } from '#kernel/telemetry/create-metrics.ts';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import { descriptionRoutes } from '#process/process-routes/description-routes.ts';
import { frontPageRoute } from '#process/process-routes/front-page-route.ts';
import { healthRoutes } from '#process/process-routes/health-routes.ts';
import { metricsRoute } from '#process/process-routes/metrics-route.ts';
import { StoredFiles } from '#query/imports/jobs/stored-files.ts';
import { queryRoutes } from '#query/query-parts.ts';
import { freshnessOf } from '#query/space/spaces-deps.ts';
import { TableCatalogue } from '#query/space/table-catalogue.ts';
import { EmbeddedStore } from '#records/store-embedded/embedded-store.ts';
import { createLocalReservations } from '#records/unique/unique-reservations.ts';
import { type HttpServer, startHttpServer } from '#server/http/http-server.ts';
import type { Route } from '#server/http/http-types.ts';
import { directUploadsOn, noPlans } from './direct-uploads.ts';
import { fakeRequest } from './fake-request.ts';
import { newFile, testDeployment } from './new-file.ts';
import { picturesOn } from './pictures.ts';
import { queryConfig } from './plain-store.ts';
import { testWebhooks } from './query-harness.ts';
import { quickHasher } from './quick-hasher.ts';
import { noUsage } from './resumable-uploads.ts';
import { sendersFor } from './senders-for.ts';
import { silentLog } from './silent-log.ts';
import { filesInMemory, testGateway } from './test-gateway.ts';

/** Whose pages may call it. */
export const pageOrigin = 'https://app.example.com';

/** A server of everything in this process, which fails when a request asks for it (`test-fault`, a header or in the query). */
export interface FaultyServer {
  readonly baseUrl: string;
  /** What the process says of itself fails from now on. */
  breakHealth(broken: boolean): void;
  readonly server: HttpServer;
  /** Name of an upload that has expired. */
  readonly expiredUpload: string;
  /** Name of a file that has expired, and of one in the trash. */
  readonly expiredFile: string;
  readonly expiredTrash: string;
  /** A planned upload that has expired, and the target of its only part, of five bytes. */
  readonly expiredPlan: { readonly id: string; readonly part: string };
  /** A mail to somebody to whom another was promised. */
  mailTo(address: string, purpose: PromisedMail['purpose']): Promise<Mail>;
  close(): Promise<void>;
}

/** Whose requests are that do not say so (header `test-owner`). */
const usualOwner = '0b9e2f4e-6a57-4f8a-9d0c-1f2e3d4c5b6a';

const authenticate: Authenticate = async (request) => {
  if (request.header('authorization') !== 'Bearer good') throw unauthorized('not good');
  // the headers of a live query are those of whoever made its address
  const fault = request.header('test-fault') ?? /[?&]test-fault=(\d+)/.exec(request.rawQuery)?.[1];
  if (fault === '422') throw queryTooExpensive('is refused as the test asked');
  if (fault === 'refused') throw fileRefused('Test.Signature');
  if (fault === '500') throw new Error('as the test asked');
  if (fault === '503') throw overloaded('as the test asked');
  if (fault === '507') throw storageFull();
  const userId = request.header('test-owner') ?? usualOwner;
  request.body.identify(userId);
  return { userId, tokenId: 't' };
};

/** @param options.metricsToken without one /metrics is for this machine alone */
export async function serveEverything(options: {
  readonly db: Database;
  readonly database: string;
  readonly metricsToken?: string;
  readonly bodyIdleTimeout: number;
  readonly addressLimiter?: RequestLimiter;
  /** Absent: nobody counts what accounts use. */
  readonly usage?: UsageCounts;
}): Promise<FaultyServer> {
  const { db, database, usage } = options;
  const counted = { usage: usage ?? noUsage };
  const root = await mkdtemp(join(tmpdir(), 'sluice-everything-'));
  const store = await createFileSystemStore({ root: join(root, 'files') });
  const projects = new Projects({ db, database });
  const log = silentLog();
  const { rows, cloudFiles } = filesInMemory();
  const inProject = (slug: string) => [...rows.values()].filter(({ projectSlug }) => projectSlug === slug);
  projects.askForFiles({
    newest: async ({ slug }, limit) => inProject(slug).slice(0, limit),
    named: async ({ slug }, names) => inProject(slug).filter(({ name }) => names.includes(name)),
    stored: (_, names, signal) => cloudFiles.namesWithRow(names, signal),
    isHidden: async ({ slug }, name) =>
      inProject(slug).some((file) => file.name === name && file.trashedAt !== undefined),
    hasAny: async ({ slug }) => inProject(slug).length > 0,
  });
  const uses = new FileUses({ db, database });
  const marks = new FileMarks({ db, database });
  const trash = new FileTrash({ cloudFiles, store, marks, days: 7 });
  const used = new UsedFiles({ uses, marks, cloudFiles, store, quota: noQuota, plans: noPlans, trash, log });
  const uploadKeys = new UploadKeys({ cloudFiles, locks: ownLocks() });
  const presets = [{ name: 'thumb', width: 9, height: 9, fit: 'inside' as const }];
  const { pictures, maker } = picturesOn({ store, cloudFiles, presets });
  // of an upload that goes on
  const busy = fakeRequest({ headers: { 'idempotency-key': 'busy' } });
  void uploadKeys.use(busy, { userId: usualOwner }, () => new Promise(() => {}));
  let broken = false;
  const config = { dataDir: root, recordCacheBytes: 0 };
  const records = await EmbeddedStore.open({ db, database, config, log, metrics: unmeasured });
  const webhooks = testWebhooks({ db, database, singleWriter: true });
  const promised = new Map<string, PromisedMail>();
  const promise = webhooks.promise.bind(webhooks);
  webhooks.promise = (mail) => {
    promised.set(mail.address, mail);
    return promise(mail);
  };
  let makeMail: MakeMail = () => Promise.reject(new Error('there is no query service'));
  webhooks.makeMails = (make) => {
    makeMail = make;
  };
  const filesUrl = (slug: string): string => `http://files.test/_f_/${slug}`;
  const planned = directUploadsOn({ store, cloudFiles, filesUrl, log });
  const routes: Route[] = [
    ...queryRoutes({
      config: queryConfig,
      store: records,
      catalogue: new TableCatalogue({ db, database }),
      database,
      projects,
      authenticate,
      authenticateAgain: authenticate,
      fileSenders: sendersFor({ authenticate, projects, db, database }),
      hasher: quickHasher(),
      events: webhooks,
      log,
      metrics: unmeasured,
      throttle: new LoginThrottle(),
      reservations: createLocalReservations(),
      uses: new OwnUses(),
      baseUrl: () => 'http://127.0.0.1:8080',
      now: Date.now,
      invalidation: unannounced,
      freshness: freshnessOf(records, unannounced),
      usage: usage ?? new UsageCounts({ db, database, log }),
      fileLinks: ({ projectSlug }) => `http://files.test/_f_/${projectSlug}/`,
      files: new StoredFiles({ deploymentId: testDeployment, open: async () => store }),
    }),
    ...webhookRoutes({ webhooks, authenticate }),
    ...testGateway({
      authenticate,
      projects,
      store,
      cloudFiles,
      log,
      keys: uploadKeys,
      used,
      trash,
      pictures,
      ...planned,
      ...counted,
    }),
    // as if the dashboard were there
    frontPageRoute([{ path: '/_console_/' }]),
    ...healthRoutes([], () => (broken ? notReady(['as the test asked']) : null)),
    metricsRoute({
      token: options.metricsToken,
      async read() {
        if (broken) throw new Error('as the test asked');
        return '';
      },
    }),
  ];
  const baseUrl = (): string => 'http://files.test';
  const server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    tls: undefined,
    trustedProxies: undefined,
    corsOrigins: [pageOrigin],
    bodyIdleTimeout: options.bodyIdleTimeout,
    requestTimeout: 60_000,
    addressLimiter: options.addressLimiter,
    ...(usage === undefined
      ? {}
      : { observer: { received() {}, answered: (request) => usage.answered(request) } }),
    log,
    routes: [...routes, ...descriptionRoutes({ routes, publicUrl: undefined, baseUrl })],
  });
  const expired = draftFile(
    { fileName: 'a.txt', contentType: undefined },
    { id: randomUUID(), deploymentId: testDeployment, ownerId: usualOwner, projectSlug: 'demo' },
  );
  await new StateStore({ store, deploymentId: testDeployment }).save(
    { file: expired, metadata: '', length: 5, partBytes: 1, written: null, rest: null, savedAt: 0 },
    new AbortController().signal,
  );
  const gone = newFile({ ownerId: usualOwner, projectSlug: 'demo', expiresAt: new Date(0) });
  const trashed = newFile({ ...gone, ...newFile(), ownerId: usualOwner, trashedAt: new Date(0) });
  for (const file of [gone, trashed]) await cloudFiles.insert(file, new AbortController().signal);
  return {
    expiredUpload: expired.name,
    expiredFile: gone.name,
    expiredTrash: trashed.name,
    expiredPlan: await expiredPlan(planned),
    async mailTo(address, purpose) {
      const mail = promised.get(address);
      const made = mail && (await makeMail({ ...mail, purpose }, new AbortController().signal));
      if (typeof made !== 'object') throw new Error(`no mail to ${address}: ${made}`);
      return made;
    },
    baseUrl: `http://127.0.0.1:${server.port}`,
    server,
    breakHealth(now) {
      broken = now;
    },
    async close() {
      await server.close(0);
      await maker.close();
      await records.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function expiredPlan({ plans, direct }: Pick<ReturnType<typeof directUploadsOn>, 'plans' | 'direct'>) {
  const file = draftFile(
    { fileName: 'a.txt', contentType: undefined },
    // a UUIDv7 of 1970
    {
      id: '00000000-0001-7000-8000-000000000000',
      deploymentId: testDeployment,
      ownerId: usualOwner,
      projectSlug: 'demo',
    },
  );
  const parts = { size: 5, partBytes: 5, uploadId: file.objectKey, checksums: false };
  const plan = { file, ...parts, plannedAt: 1 };
  await plans.save(plan, new AbortController().signal);
  const [part] = await direct.addresses(plan, 1, 1);
  const { pathname, search } = new URL(part?.url ?? '');
  return { id: file.name, part: pathname + search };
}
