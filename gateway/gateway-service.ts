import { createStoredKeys } from '#auth/signing-keys.ts';
import { FileUses } from '#catalogue/file-uses/file-uses.ts';
import type { ProjectFiles } from '#catalogue/project-files.ts';
import { LockRefused, type Locks, ownLocks, redisLocks } from '#coordination/redis/process-lock.ts';
import type { Config } from '#kernel/config/read-config.ts';
import { CommandError } from '#kernel/errors/command-error.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';
import { ReaderSlots } from '#kernel/limits/reader-slots.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import type { ProcessServices, ServiceFactory } from '#process/lifecycle/service.ts';
import { noQuota, type Quota, StorageQuota, storageUse } from './access/storage-quota.ts';
import { UploadKeys } from './access/upload-keys.ts';
import { UsedFiles } from './access/used-files.ts';
import type { CloudFile } from './catalogue/cloud-file.ts';
import type { CloudFiles } from './catalogue/cloud-files.ts';
import { FileDigests, noDigests } from './digest/file-digests.ts';
import { DirectUploads } from './direct/direct-uploads.ts';
import { OwnDirectStore } from './direct/own-direct-store.ts';
import { DirectDownloads } from './download/direct-downloads.ts';
import { smallFileBytes } from './download/small-files.ts';
import { gatewayExamples } from './examples.ts';
import { fileAddresses } from './files/file-addresses.ts';
import { Janitor } from './janitor/janitor.ts';
import { removeFiles } from './janitor/remove-files.ts';
import { createFileLinks } from './links/file-links.ts';
import { type LinkUses, noLinkUses, OwnLinkUses, RedisLinkUses } from './links/link-uses.ts';
import { TextSigner } from './links/text-signer.ts';
import { UploadLinks } from './links/upload-links.ts';
import { measureUploads } from './measure-uploads.ts';
import { UploadMemory } from './memory/upload-memory.ts';
import { type GatewayStores, openStores } from './open-stores.ts';
import { PlanStore } from './plans/plan-store.ts';
import { ResumableUploads } from './resumable/resumable-uploads.ts';
import { StateStore } from './resumable/state-store.ts';
import {
  localLeases,
  redisLeases,
  type SharedLeases,
  uncoordinatedLeases,
} from './resumable/upload-leases.ts';
import { gatewayRoutes } from './routes.ts';
import { StoreCheck } from './store-check.ts';

/** Less than the time limit of a whole stop. Milliseconds. */
const takeBackTimeout = 10_000;

/**
 * Fewer than the read connections of the S3 store, and the files that a process may open. While all slots are taken, a
 * client that reads less than 8 KiB a second over 10 s, or waits longer than 20 s, is cut.
 */
const downloadLimits = {
  limit: 1000,
  queueLimit: 10_000,
  waitLimit: 20_000,
  full: 'too many downloads are under way',
  minRate: 8192,
  ratePeriod: 10_000,
  lendsAll: true,
};

/** Wires the upload gateway to the stores of its process. */
export const gatewayService: ServiceFactory = async (services, baseUrl) => {
  const { config, log, db, database, deployment, fileSenders, projects, uploads, usage, closed } = services;
  const { store, cloudFiles, smallFiles, largestPart, objectUrl, closeRows, ...stores } =
    await openStores(services);
  const states = new StateStore({ store: stores.states, deploymentId: deployment.id });
  const { memory, downloads } = openLimits(services, largestPart);
  const expireAfter = config.janitorStaleAfter;
  const plans = openPlans(services, stores.states);
  const quota = openQuota(config, { cloudFiles, unfinished: [states, plans] });
  const uses = new FileUses({ db, database });
  const used = new UsedFiles({ uses, cloudFiles, store, quota, plans, log });
  projects.askForFiles(filesOf(cloudFiles, used.deleteCondemned));
  const { locks, leases, linkUses } = openCoordination(services);
  const keys = createStoredKeys({ db, database });
  const digests = config.digest === 'sha-256' ? new FileDigests() : noDigests;
  const resumable = new ResumableUploads({
    store,
    states,
    cloudFiles,
    projects,
    memory,
    digests,
    quota,
    usage,
    boundAs: fileSenders.boundAs,
    log,
    deploymentId: deployment.id,
    maxUploadBytes: config.maxUploadBytes,
    maxOpenUploads: config.maxOpenUploads,
    expireAfter,
    leases,
  });
  const addresses = fileAddresses({ config, baseUrl, objectUrl });
  const uploadLinks = new UploadLinks({ keys, uses: linkUses, closed });
  const signer = new TextSigner(keys, 'sluice part of an upload 1');
  const ownDirect =
    store.direct === undefined ? new OwnDirectStore({ store, signer, filesUrl: addresses.filesUrl }) : null;
  const direct = new DirectUploads({
    store,
    direct: store.direct ?? (ownDirect as OwnDirectStore),
    keepsParts: ownDirect !== null,
    plans,
    cloudFiles,
    projects,
    digests,
    quota,
    usage,
    boundAs: fileSenders.boundAs,
    uploadLinks,
    deploymentId: deployment.id,
    maxDirectBytes: config.maxDirectBytes,
    maxOpenUploads: config.maxOpenUploads,
    expireAfter,
    leases,
    log,
  });
  const janitor = new Janitor({
    store,
    cloudFiles,
    digests,
    resumable,
    plans,
    direct: store.direct ?? null,
    deployment,
    uploads,
    log,
    staleAfter: config.janitorStaleAfter,
    grace: config.janitorGrace,
    interval: config.janitorInterval,
    lock: locks('janitor'),
  });
  const { removals } = services;
  removals.add(
    'files',
    removeFiles({ store, cloudFiles, states, resumable, plans, deploymentId: deployment.id }),
  );
  const isPublic = config.s3?.publicBucket === true && config.publicFilesUrl === undefined;
  const publicUrl = isPublic ? objectUrl : null;
  const storeCheck = new StoreCheck({ store: stores.states, deploymentId: deployment.id, publicUrl, log });
  return {
    routes: gatewayRoutes({
      deploymentId: deployment.id,
      authenticate: fileSenders.authenticate,
      boundAs: fileSenders.boundAs,
      projects,
      cloudFiles,
      store,
      memory,
      digests,
      keys: new UploadKeys({ cloudFiles, locks }),
      downloads,
      smallFiles,
      redirects: openRedirects(config, { store, smallFiles }),
      maxUploadBytes: config.maxUploadBytes,
      quota,
      used,
      resumable,
      direct,
      ownDirect,
      plans,
      maxDirectBytes: config.maxDirectBytes,
      smallestPart: direct.smallestPart,
      bucketOrigin:
        config.s3?.publicEndpoint === undefined || objectUrl === null
          ? null
          : new URL(objectUrl('file')).origin,
      usage,
      fileLinks: config.fileLinks,
      ...addresses,
      links: createFileLinks(keys),
      uploadLinks,
      closed,
      uploads,
      log,
    }),
    readiness: [{ name: 'the object store', check: (signal) => storeCheck.ready(signal) }],
    examples: gatewayExamples,
    started() {
      janitor.start();
      used.start();
      void storeCheck.run();
    },
    commands: { janitor: janitorCommand(janitor) },
    async close() {
      // a failed upload has been answered, but may still be removing its parts
      if (!(await uploads.untilIdle(takeBackTimeout))) {
        log.warn({ uploads: uploads.open }, 'uploads under way are left to the janitor');
      }
      await Promise.all([resumable.close(takeBackTimeout), direct.close(takeBackTimeout)]);
      await janitor.close();
      await used.close();
      await digests.close();
      await closeRows();
      memory.close();
      downloads.close();
      await store.close();
    },
  };
};

/** The files of a project, with those in the write-ahead log. */
function filesOf(cloudFiles: CloudFiles, deleteCondemned: () => void): ProjectFiles {
  return {
    deleteCondemned,
    newest: ({ ownerId, slug }, limit, signal) =>
      cloudFiles.list({ ownerId, projectSlug: slug, limit }, signal),
    async named({ ownerId, slug }, names, signal) {
      const stored = names.filter(isStoredName);
      const files = await Promise.all(stored.map((name) => cloudFiles.findByName(name, signal)));
      return files.filter((file) => file?.ownerId === ownerId && file.projectSlug === slug) as CloudFile[];
    },
    stored: (_, names, signal) => cloudFiles.namesWithRow(names, signal),
  };
}

/** null: this gateway sends all files itself. */
function openRedirects(
  { downloads }: Pick<Config, 'downloads'>,
  { store, smallFiles }: Pick<GatewayStores, 'store' | 'smallFiles'>,
): DirectDownloads | null {
  const { direct } = store;
  if (downloads !== 'redirect' || direct === undefined) return null;
  return new DirectDownloads({ store, direct, above: smallFiles.isOn ? smallFileBytes : 0 });
}

/** The limits that uploads and downloads share, with their metrics. */
function openLimits(
  { config, uploads, metrics }: ProcessServices,
  largestPart: number,
): { readonly memory: UploadMemory; readonly downloads: ReaderSlots } {
  const { uploadMemoryBytes: memoryBytes } = config;
  const memory = new UploadMemory({
    bytes: memoryBytes,
    largestPart,
    minRate: config.uploadMinRate,
    ratePeriod: config.uploadMinRatePeriod,
    waitLimit: config.uploadWaitTimeout,
  });
  const downloads = new ReaderSlots(downloadLimits);
  measureUploads(metrics, { uploads, memory, memoryBytes, downloads });
  return { memory, downloads };
}

function openPlans({ config, deployment, log }: ProcessServices, store: ObjectStore): PlanStore {
  return new PlanStore({
    store,
    deploymentId: deployment.id,
    expireAfter: config.janitorStaleAfter,
    // no other process uses the embedded stores
    singleGateway: config.clickhouse === undefined,
    log,
  });
}

/** Coordination with other gateways on the same stores. */
function openCoordination({ config, redis, log }: ProcessServices): {
  readonly locks: Locks;
  readonly leases: SharedLeases;
  readonly linkUses: LinkUses;
} {
  // no other process uses the embedded stores
  if (config.clickhouse === undefined)
    return { locks: ownLocks(), leases: localLeases, linkUses: new OwnLinkUses() };
  if (redis === undefined) return { locks: ownLocks(), leases: uncoordinatedLeases, linkUses: noLinkUses };
  const shared = { redis, log };
  return { locks: redisLocks(shared), leases: redisLeases(shared), linkUses: new RedisLinkUses(redis) };
}

function openQuota({ storageQuota: limits }: Config, stored: Parameters<typeof storageUse>[0]): Quota {
  if (limits.files === 0 && limits.bytes === 0) return noQuota;
  return new StorageQuota({ limits, use: storageUse(stored) });
}

function janitorCommand(janitor: Janitor): (order: unknown) => Promise<string> {
  return async (order) => {
    const { dryRun } = order as { dryRun: boolean };
    try {
      return JSON.stringify(await janitor.run({ dryRun }), null, 2);
    } catch (error) {
      if (error instanceof LockRefused) throw new CommandError(`the janitor did not run: ${error.message}`);
      throw error;
    }
  };
}
