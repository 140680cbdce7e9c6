import { join } from 'node:path';
import { createStoredKeys } from '../common/auth/signing-keys.ts';
import { CommandError } from '../common/errors/command-error.ts';
import type { ServiceFactory } from '../common/lifecycle/service.ts';
import { type CloudFile, createCloudFiles } from '../common/metadata/cloud-files.ts';
import { openLoggedFiles } from '../common/metadata/logged-files.ts';
import { openObjectStore } from '../common/object-store/open-object-store.ts';
import { createProcessLock, LockRefused } from '../common/redis/process-lock.ts';
import { DownloadSlots } from './download/download-slots.ts';
import { gatewayExamples } from './examples.ts';
import { createFileLinks } from './file-links.ts';
import { createJanitor } from './janitor/janitor.ts';
import { sweepUploads } from './janitor/sweep-uploads.ts';
import { countedCalls, measuredStore, measureUploads } from './measure-uploads.ts';
import { UploadMemory } from './memory/upload-memory.ts';
import { gatewayRoutes } from './routes.ts';
import { StorageQuota } from './storage-quota.ts';

/** Within what a stop may take in all. Milliseconds. */
const takeBackTimeout = 10_000;

/**
 * Below the connections that the S3 store reads with, and the files that a process may open. Who takes less than 8 KiB
 * a second over 10 s, or waits for more than 20 s, is given up while all are taken.
 */
const downloadLimits = { limit: 1000, minRate: 8192, ratePeriod: 10_000, waitLimit: 20_000 };

/** The upload gateway on the stores of its process. */
export const gatewayService: ServiceFactory = async (services, baseUrl) => {
  const { config, log, db, database, deployment, authenticate, projects, redis, uploads, metrics, usage } =
    services;
  const {
    store: bareStore,
    largestPart,
    objectUrl,
  } = await openObjectStore(config, log, countedCalls(metrics));
  const store = measuredStore(bareStore, metrics);
  // the embedded engine is this process's alone, so nobody misses rows that it has yet to get
  const alone = config.clickhouse === undefined;
  const table = createCloudFiles({ db, database, alone, metrics });
  const wal = alone
    ? await openLoggedFiles({ table, directory: join(config.dataDir, 'file-log'), log })
    : null;
  const cloudFiles = wal ?? table;
  projects.askForFiles(async ({ ownerId, slug }, signal) => {
    const query = { ownerId, projectSlug: slug, limit: 1 };
    return (await cloudFiles.list(query, signal)).length > 0;
  });
  const memory = new UploadMemory({
    bytes: config.uploadMemoryBytes,
    largestPart,
    minRate: config.uploadMinRate,
    ratePeriod: config.uploadMinRatePeriod,
    waitLimit: config.uploadWaitTimeout,
  });
  const downloads = new DownloadSlots(downloadLimits);
  const { storageQuota: limits } = config;
  const quota =
    limits.files > 0 || limits.bytes > 0
      ? new StorageQuota({ limits, use: (account, signal) => cloudFiles.usedBy(account, signal) })
      : undefined;
  measureUploads(metrics, { uploads, memory, memoryBytes: config.uploadMemoryBytes, downloads });
  const janitor = createJanitor({
    ...{ store, cloudFiles, deployment, uploads, log },
    staleAfter: config.janitorStaleAfter,
    grace: config.janitorGrace,
    interval: config.janitorInterval,
    lock: redis === undefined ? undefined : createProcessLock({ redis, name: 'janitor', log }),
  });
  const closing = new AbortController();
  const downloadUrl = ({ projectSlug, name }: CloudFile): string =>
    `${baseUrl()}/_f_/${projectSlug}/${encodeURIComponent(name)}`;
  const fileUrl = (file: CloudFile): string => {
    if (config.publicFilesUrl !== undefined) {
      return `${config.publicFilesUrl}/${file.objectKey.split('/').map(encodeURIComponent).join('/')}`;
    }
    // elsewhere an address of the bucket is 403 without a key of it
    return config.s3?.publicBucket === true && objectUrl !== null
      ? objectUrl(file.objectKey)
      : downloadUrl(file);
  };
  return {
    routes: gatewayRoutes({
      deploymentId: deployment.id,
      authenticate,
      projects,
      cloudFiles,
      store,
      memory,
      downloads,
      maxUploadBytes: config.maxUploadBytes,
      quota,
      usage,
      fileLinks: config.fileLinks,
      fileUrl,
      downloadUrl,
      links: createFileLinks(createStoredKeys({ db, database })),
      uploads,
      log,
    }),
    readiness: [{ name: 'the object store', check: (signal) => store.ready(signal) }],
    examples: gatewayExamples,
    started: () => janitor.start(),
    sweep: (keys) => sweepUploads({ store, cloudFiles, log }, keys, closing.signal),
    commands: {
      async janitor(order) {
        const { dryRun } = order as { dryRun: boolean };
        try {
          return JSON.stringify(await janitor.run({ dryRun }), null, 2);
        } catch (error) {
          if (error instanceof LockRefused)
            throw new CommandError(`the janitor does not run: ${error.message}`);
          throw error;
        }
      },
    },
    async close() {
      closing.abort(new Error('the server stops'));
      // an upload that was given up has had its answer, and may still be taking back what it had stored
      if (!(await uploads.untilIdle(takeBackTimeout))) {
        log.warn({ uploads: uploads.open }, 'the stop leaves uploads to the janitor');
      }
      await janitor.close();
      await wal?.close();
      memory.close();
      downloads.close();
      await store.close();
    },
  };
};
