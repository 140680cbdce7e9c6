import { partBytesFor } from '../../config/s3-part-sizes.ts';
import { StoreUnavailable } from '../../errors/store-unavailable.ts';
import { assertKeyPrefix, assertObjectKey } from '../object-key.ts';
import type { ObjectStore } from '../object-store.ts';
import { dropUpload } from './s3-cleanup.ts';
import { openS3Connections } from './s3-connections.ts';
import { storageError } from './s3-failure.ts';
import { lastPartAt, listObjects, listUploads } from './s3-list.ts';
import type { S3StoreOptions } from './s3-options.ts';
import { readObject } from './s3-read.ts';
import { deleteObject, deleteObjects, headBucket, headObject } from './s3-requests.ts';
import { placeOf, S3Writer } from './s3-writer.ts';

/** Keeps objects in a bucket of S3, or of a server that speaks its protocol. Nothing is sent before it is needed. */
export function createS3Store(options: S3StoreOptions): ObjectStore {
  const { context, reader, close } = openS3Connections(options);
  /** What the log has of a problem that lasts. */
  let logged: string | undefined;
  return {
    concurrentParts: options.concurrentParts ?? 3,
    shortParts: false,
    partBytes: (index, maxBytes, small) => partBytesFor(options, index, maxBytes, small),
    async create(key, description, signal) {
      assertObjectKey(key);
      signal.throwIfAborted();
      const keeps = description.replaces === true;
      return new S3Writer(context, key, description, { signal, ...(keeps && { before: null }) });
    },
    async resume(key, description, written, signal) {
      assertObjectKey(key);
      signal.throwIfAborted();
      return new S3Writer(context, key, description, { signal, before: written });
    },
    async dropWritten(key, written, signal) {
      const place = placeOf(written);
      if (place !== null)
        await aborting(key, signal, () => dropUpload(context, { key, uploadId: place.id }, signal));
    },
    async head(key, signal) {
      assertObjectKey(key);
      return headObject(context, key, signal);
    },
    read(key, range, signal) {
      assertObjectKey(key);
      return readObject(context, reader, { key, range }, signal);
    },
    async delete(key, signal) {
      assertObjectKey(key);
      await deleteObject(context, key, signal);
    },
    async deleteAll(keys, signal) {
      for (const key of keys) assertObjectKey(key);
      return deleteObjects(context, keys, signal);
    },
    list(prefix, signal) {
      assertKeyPrefix(prefix);
      return listObjects(context, prefix, signal);
    },
    listOpenUploads: (signal) => listUploads(context, '', signal),
    lastWrittenAt: (upload, signal) => lastPartAt(context, upload, signal),
    isUploadOf: (upload, key) => upload.key === key,
    abortUpload: ({ key, id }, signal) =>
      aborting(key, signal, () => dropUpload(context, { key, uploadId: id }, signal)),
    async ready(signal) {
      try {
        await headBucket(context, signal);
        logged = undefined;
      } catch (error) {
        const problem = error instanceof StoreUnavailable ? error.problem : undefined;
        // it is asked for again and again
        if (problem !== undefined && problem !== logged) context.log.warn({ err: error }, problem);
        logged = problem ?? logged;
        throw error;
      }
    },
    close,
  };
}

/** Rejects with an error that says what failed, or the signal's reason. */
async function aborting(key: string, signal: AbortSignal, drop: () => Promise<void>): Promise<void> {
  signal.throwIfAborted();
  try {
    await drop();
  } catch (error) {
    signal.throwIfAborted();
    throw storageError('AbortMultipartUpload', key, error);
  }
}
