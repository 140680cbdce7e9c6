import { join } from 'node:path';
import { type CloudFile, createCloudFiles } from '../common/control/cloud-files.ts';
import type { ServiceFactory } from '../common/lifecycle/run-process.ts';
import { createFileSystemStore } from '../common/object-store/file-system-store.ts';
import { gatewayRoutes } from './routes.ts';

/** The upload gateway on the stores of its process. */
export const gatewayService: ServiceFactory = async (services, baseUrl) => {
  const { config, log, db, database, authenticate, projects } = services;
  const store = await createFileSystemStore({ root: join(config.dataDir, 'files') });
  const fileUrl = ({ objectKey, projectSlug, name }: CloudFile): string =>
    config.publicFilesUrl === undefined
      ? `${baseUrl()}/_f_/${projectSlug}/${encodeURIComponent(name)}`
      : `${config.publicFilesUrl}/${objectKey.split('/').map(encodeURIComponent).join('/')}`;
  return {
    routes: gatewayRoutes({
      authenticate,
      projects,
      cloudFiles: createCloudFiles({ db, database }),
      store,
      maxUploadBytes: config.maxUploadBytes,
      fileLinks: config.fileLinks,
      fileUrl,
      log,
    }),
    readiness: [{ name: 'the object store', check: (signal) => store.ready(signal) }],
    close: () => store.close(),
  };
};
