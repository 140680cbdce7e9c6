import { join } from 'node:path';
import type { IsClosed } from '#catalogue/closed-accounts.ts';
import { sharedPace } from '#engine/shared-pace.ts';
import { unauthorized } from '#kernel/errors/catalogue.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { type OpenedObjectStore, openObjectStore } from '#objects/open-object-store.ts';
import type { ProcessServices } from '#process/lifecycle/service.ts';
import { type CloudFiles, createCloudFiles } from './catalogue/cloud-files.ts';
import { LoggedFiles } from './catalogue/logged-files.ts';
import { SmallFiles } from './download/small-files.ts';
import { VariantRemoval } from './images/variant-removal.ts';
import { countedCalls, measuredStore } from './measure-uploads.ts';

/** The stores of the gateway: for bytes, and for rows. */
export interface GatewayStores extends Omit<OpenedObjectStore, 'store'> {
  readonly store: ObjectStore;
  /** The same store without metrics, for objects that are not files. */
  readonly states: ObjectStore;
  readonly cloudFiles: CloudFiles;
  readonly smallFiles: SmallFiles;
  /** Flushes waiting rows into the table. The object store is closed separately, after all its users. */
  closeRows(): Promise<void>;
}

export async function openStores(services: ProcessServices): Promise<GatewayStores> {
  const { config, log, db, database, metrics, invalidation, closed } = services;
  const opened = await openObjectStore(config, log, {
    ...countedCalls(metrics),
    deploymentId: services.deployment.id,
  });
  // no other process reads the embedded engine, so none misses rows that are only in the log
  const singleWriter = config.clickhouse === undefined;
  const table = createCloudFiles({
    db,
    database,
    singleWriter,
    metrics,
    invalidation,
    pace: sharedPace(services, 'files'),
  });
  const wal = singleWriter
    ? await LoggedFiles.open({ table, directory: join(config.dataDir, 'file-log'), log })
    : null;
  const counts = metrics.cache('file_bytes');
  const smallFiles = new SmallFiles({ bytes: config.fileCacheBytes, singleWriter, invalidation, counts });
  const { id: deploymentId } = services.deployment;
  const variants = new VariantRemoval({ store: opened.store, deploymentId, log });
  return {
    ...opened,
    store: measuredStore(opened.store, metrics),
    states: opened.store,
    cloudFiles: openOnly(variants.over(smallFiles.over(wal ?? table)), closed),
    smallFiles,
    async closeRows() {
      await wal?.close();
    },
  };
}

/** Refuses files of deleted accounts, however their uploads began. */
function openOnly<Files extends CloudFiles>(files: Files, closed: IsClosed): Files {
  const insert = files.insert.bind(files);
  return Object.assign(files, {
    insert: async (...args: Parameters<CloudFiles['insert']>) => {
      if (closed.has(args[0].ownerId)) throw unauthorized('The account has been deleted');
      await insert(...args);
    },
  });
}
