import { join } from 'node:path';
import { fileSystemPartBytes } from '#kernel/config/file-system-part.ts';
import type { Config } from '#kernel/config/read-config.ts';
import { largestPart, smallestPart } from '#kernel/config/s3-part-sizes.ts';
import type { Log } from '#kernel/log/log.ts';
import type { ObserveCall } from '#kernel/telemetry/observe-call.ts';
import { createFileSystemStore } from './file-system/file-system-store.ts';
import type { ObjectStore } from './object-store.ts';

export interface OpenedObjectStore {
  readonly store: ObjectStore;
  /** The largest part that `partBytes` asks for. */
  readonly largestPart: number;
  /** An object's public URL; null: files on the file system have none. */
  readonly objectUrl: ((key: string) => string) | null;
}

/** Opens the store of the configuration. The S3 client is only loaded if it is used. */
export async function openObjectStore(
  config: Config,
  log: Log,
  {
    observe,
    onRetry,
    deploymentId,
  }: { observe?: ObserveCall; onRetry?: () => void; deploymentId?: string } = {},
): Promise<OpenedObjectStore> {
  const { s3 } = config;
  if (s3 === undefined) {
    const store = await createFileSystemStore({ root: join(config.dataDir, 'files') });
    return { store, largestPart: fileSystemPartBytes, objectUrl: null };
  }
  const { createS3Store } = await import('./s3/s3-store.ts');
  const { s3ObjectUrls } = await import('./s3/s3-address.ts');
  const sizes = { partBytes: config.uploadPartBytes, maxObjectBytes: config.maxUploadBytes };
  return {
    store: createS3Store({
      ...s3,
      ...sizes,
      maxSockets: writeSockets(config.uploadMemoryBytes),
      timing: { request: config.s3RequestTimeout, ...(onRetry && { onRetry }) },
      ...(observe && { observe }),
      deploymentId,
      log,
    }),
    largestPart: largestPart(sizes),
    objectUrl: s3ObjectUrls(s3),
  };
}

/** One connection for each part that fits into the memory of uploads: a part that waits for a connection wastes memory. */
function writeSockets(uploadMemoryBytes: number): number {
  return Math.max(64, Math.min(1024, Math.ceil(uploadMemoryBytes / smallestPart)));
}
