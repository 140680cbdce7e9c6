import { join } from 'node:path';
import { type CloudFile, createCloudFiles } from '../common/control/cloud-files.ts';
import { openJournaledFiles } from '../common/control/journaled-files.ts';
import type { ServiceFactory } from '../common/lifecycle/run-process.ts';
import { openObjectStore } from '../common/object-store/open-object-store.ts';
import { createJanitor } from './janitor/janitor.ts';
import { UploadMemory } from './memory/upload-memory.ts';
import { gatewayRoutes } from './routes.ts';

/** The upload gateway on the stores of its process. */
export const gatewayService: ServiceFactory = async (services, baseUrl) => {
  const { config, log, db, database, authenticate, projects } = services;
  const { store, largestPart, objectUrl } = await openObjectStore(config, log);
  const table = createCloudFiles({ db, database });
  // the embedded engine is this process's alone, so nobody misses rows that it has yet to get
  const journal =
    config.clickhouse === undefined
      ? await openJournaledFiles({ table, directory: join(config.dataDir, 'file-journal'), log })
      : null;
  const cloudFiles = journal ?? table;
  const memory = new UploadMemory({
    bytes: config.uploadMemoryBytes,
    largestPart,
    minRate: config.uploadMinRate,
    ratePeriod: config.uploadMinRatePeriod,
    waitLimit: config.uploadWaitTimeout,
  });
  const janitor = createJanitor({
    store,
    cloudFiles,
    log,
    staleAfter: config.janitorStaleAfter,
    grace: config.janitorGrace,
    interval: config.janitorInterval,
  });
  const fileUrl = ({ objectKey, projectSlug, name }: CloudFile): string => {
    if (config.publicFilesUrl !== undefined) {
      return `${config.publicFilesUrl}/${objectKey.split('/').map(encodeURIComponent).join('/')}`;
    }
    return objectUrl?.(objectKey) ?? `${baseUrl()}/_f_/${projectSlug}/${encodeURIComponent(name)}`;
  };
  return {
    routes: gatewayRoutes({
      authenticate,
      projects,
      cloudFiles,
      store,
      memory,
      maxUploadBytes: config.maxUploadBytes,
      fileLinks: config.fileLinks,
      fileUrl,
      log,
    }),
    readiness: [{ name: 'the object store', check: (signal) => store.ready(signal) }],
    started: () => janitor.start(),
    commands: {
      async janitor(order) {
        const { dryRun } = order as { dryRun: boolean };
        return JSON.stringify(await janitor.run({ dryRun }), null, 2);
      },
    },
    async close() {
      await janitor.close();
      await journal?.close();
      memory.close();
      await store.close();
    },
  };
};
