import { join } from 'node:path';
import { FileMarks } from '#catalogue/file-uses/file-marks.ts';
import { FileUses } from '#catalogue/file-uses/file-uses.ts';
import type { ProjectFiles } from '#catalogue/project-files.ts';
import { LockRefused, type Locks, ownLocks, redisLocks } from '#coordination/redis/process-lock.ts';
import type { Config } from '#kernel/config/read-config.ts';
import { CommandError } from '#kernel/errors/command-error.ts';
import { isStoredName } from '#kernel/ids/stored-name.ts';
import { ReaderSlots } from '#kernel/limits/reader-slots.ts';
import type { FileEvents } from '#kernel/record-events/file-event.ts';
import type { ProcessServices, Service, ServiceFactory } from '#process/lifecycle/service.ts';
import { FileTrash } from './access/file-trash.ts';
import { UploadKeys } from './access/upload-keys.ts';
import { UsedFiles } from './access/used-files.ts';
import { type CloudFile, isPublished } from './catalogue/cloud-file.ts';
import type { CloudFiles } from './catalogue/cloud-files.ts';
import { DirectDownloads } from './download/direct-downloads.ts';
import { smallFileBytes } from './download/small-files.ts';
import { gatewayExamples } from './examples.ts';
import { AnnouncedFiles } from './files/announced-files.ts';
import { fileAddresses } from './files/file-addresses.ts';
import { FolderPlaces } from './folders/folder-places.ts';
import { ReplacedFiles } from './folders/replaced-files.ts';
import { PictureMaker } from './images/picture-maker.ts';
import { Pictures } from './images/pictures.ts';
import { Janitor } from './janitor/janitor.ts';
import { removeFiles } from './janitor/remove-files.ts';
import { type LinkUses, noLinkUses, OwnLinkUses, RedisLinkUses } from './links/link-uses.ts';
import { measurePictures } from './measure-pictures.ts';
import { measureUploads } from './measure-uploads.ts';
import { UploadMemory } from './memory/upload-memory.ts';
import { openChecks } from './open-checks.ts';
import { type GatewayStores, openStores } from './open-stores.ts';
import { openUploads } from './open-uploads.ts';
import { quarantineCommand } from './quarantine/quarantine-command.ts';
import {
  localLeases,
  redisLeases,
  type SharedLeases,
  uncoordinatedLeases,
} from './resumable/upload-leases.ts';
import { gatewayRoutes } from './routes.ts';
import { StoreCheck } from './store-check.ts';

const day = 86_400_000;
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

/** The carrier of events, opened for a process. */
type OpenEvents = (services: ProcessServices) => Promise<FileEvents & Pick<Service, 'close'>>;

/** The upload gateway on the stores of its process. @param openEvents opens the receiver of events of files */
export const gatewayService =
  (openEvents: OpenEvents): ServiceFactory =>
  (services, baseUrl) =>
    openGateway(services, baseUrl, openEvents);

/** Wires the upload gateway to the stores of its process. */
const openGateway = async (
  services: ProcessServices,
  baseUrl: () => string,
  openEvents: OpenEvents,
): Promise<Service> => {
  const { config, log, db, database, deployment, fileSenders, projects, uploads, usage, closed } = services;
  const { locks, leases, linkUses } = openCoordination(services);
  const { store, cloudFiles, smallFiles, largestPart, objectUrl, closeRows, ...stores } = await openStores(
    services,
    locks,
  );
  const { memory, downloads } = openLimits(services, largestPart);
  const addresses = fileAddresses({ config, baseUrl, objectUrl });
  const { filesUrl, fileUrl } = addresses;
  const events = await openEvents(services);
  const announced = new AnnouncedFiles({ events, projects, fileUrl });
  announced.over(cloudFiles);
  const checks = openChecks(services, {
    ...{ store, cloudFiles, locks },
    onRefused: (...refusal) => announced.refused(...refusal),
  });
  const newState = checks === null ? undefined : ('checking' as const);
  const open = openUploads(services, {
    ...{ memory, leases, linkUses, newState, filesUrl },
    stores: { store, cloudFiles, states: stores.states },
  });
  const { states, plans, quota, digests, resumable, direct, ownDirect } = open;
  const uses = new FileUses({ db, database });
  const marks = new FileMarks({ db, database });
  const { trashDays } = config;
  const trash = new FileTrash({ cloudFiles, store, marks, days: trashDays });
  const used = new UsedFiles({ uses, marks, cloudFiles, store, quota, plans, trash, log });
  const redirects = openRedirects(config, { store, smallFiles });
  const replaced = new ReplacedFiles({ store, plans, log });
  const places = new FolderPlaces({ cloudFiles, used, replaced, quota, redirects, log });
  projects.askForFiles(filesOf(cloudFiles, used.deleteCondemned));
  const janitor = new Janitor({
    ...{ store, cloudFiles, digests, resumable, plans, quota, trash, trashDays, used },
    ...{ deployment, uploads, log, newState },
    direct: store.direct ?? null,
    quarantineFor: config.scan.quarantineDays * day,
    staleAfter: config.janitorStaleAfter,
    grace: config.janitorGrace,
    interval: config.janitorInterval,
    lock: locks('janitor'),
  });
  const { pictures, maker } = openPictures(services, { store: stores.states, cloudFiles, locks });
  const { removals } = services;
  const { id: deploymentId } = deployment;
  removals.add('files', removeFiles({ store, cloudFiles, states, resumable, plans, deploymentId }));
  const isPublic = config.s3?.publicBucket === true && config.publicFilesUrl === undefined;
  const publicUrl = isPublic ? objectUrl : null;
  const storeCheck = new StoreCheck({ store: stores.states, deploymentId, publicUrl, log });
  return {
    routes: gatewayRoutes({
      ...{ deploymentId, projects, cloudFiles, store, memory, digests, downloads, smallFiles },
      ...{ quota, used, trash, resumable, direct, ownDirect, plans, usage, closed, uploads, log, checks },
      ...addresses,
      authenticate: fileSenders.authenticate,
      boundAs: fileSenders.boundAs,
      keys: new UploadKeys({ cloudFiles, locks }),
      ...{ redirects, places, pictures },
      maxUploadBytes: config.maxUploadBytes,
      filesTtl: config.filesTtl,
      maxDirectBytes: config.maxDirectBytes,
      smallestPart: direct.smallestPart,
      bucketOrigin: originOfBucket(config, objectUrl),
      fileLinks: config.fileLinks,
      links: open.links,
      uploadLinks: open.uploadLinks,
    }),
    readiness: [{ name: 'the object store', check: (signal) => storeCheck.ready(signal) }],
    examples: gatewayExamples,
    started() {
      janitor.start();
      checks?.start();
      used.start();
      void storeCheck.run();
    },
    commands: { janitor: janitorCommand(janitor), quarantine: quarantineCommand(cloudFiles) },
    async close() {
      // a failed upload has been answered, but may still be removing its parts
      if (!(await uploads.untilIdle(takeBackTimeout))) {
        log.warn({ uploads: uploads.open }, 'uploads under way are left to the janitor');
      }
      await Promise.all([resumable.close(takeBackTimeout), direct.close(takeBackTimeout)]);
      await maker.close();
      await janitor.close();
      await replaced.close();
      await checks?.close();
      await used.close();
      await digests.close();
      await events.close();
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
    async isHidden({ ownerId, slug: projectSlug }, name, signal) {
      const found = isStoredName(name) ? await cloudFiles.findAny(name, signal) : null;
      return found?.ownerId === ownerId && found.projectSlug === projectSlug && !isPublished(found);
    },
    async stored(_, names, signal) {
      const found = await cloudFiles.findByPrefixes(names.filter(isStoredName), signal);
      return new Set(found.filter((file) => isPublished(file)).map(({ name }) => name));
    },
    async hasAny({ ownerId, slug }, signal) {
      for (const hidden of [undefined, 'trashed', 'checking', 'refused'] as const)
        if ((await cloudFiles.list({ ownerId, projectSlug: slug, limit: 1, hidden }, signal)).length > 0)
          return true;
      return false;
    },
  };
}

/** Where browsers reach the bucket, if the operator says that they do. */
function originOfBucket({ s3 }: Config, objectUrl: ((key: string) => string) | null): string | null {
  return s3?.publicEndpoint === undefined || objectUrl === null ? null : new URL(objectUrl('file')).origin;
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

/** Pictures by preset, with their metrics. */
function openPictures(
  { config, deployment, projects, metrics, log }: ProcessServices,
  { store, cloudFiles, locks }: Pick<GatewayStores, 'store' | 'cloudFiles'> & { readonly locks: Locks },
): { readonly pictures: Pictures; readonly maker: PictureMaker } {
  const { imagePresets: presets, imageMemoryBytes: memoryLimit, workers: gateways } = config;
  const folder = join(config.dataDir, 'pictures');
  const maker = new PictureMaker({ store, cloudFiles, folder, memoryLimit, gateways, log });
  measurePictures(metrics, maker);
  const { id: deploymentId } = deployment;
  return { maker, pictures: new Pictures({ deploymentId, store, projects, maker, locks, presets }) };
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
