import { partBytesFor } from '#kernel/config/s3-part-sizes.ts';
import { StoreUnavailable } from '#kernel/errors/store-unavailable.ts';
import { assertKeyPrefix, assertObjectKey } from '../object-key.ts';
import type { ObjectStore } from '../object-store.ts';
import { connectBucket } from './connect-bucket.ts';
import { dropUpload } from './s3-cleanup.ts';
import { createS3DirectStore } from './s3-direct-store.ts';
import { withStorageErrors } from './s3-failure.ts';
import { listObjects, listUploads } from './s3-list.ts';
import { lastPartAt } from './s3-list-parts.ts';
import type { S3StoreOptions } from './s3-options.ts';
import { readObject, readWholeObject } from './s3-read.ts';
import { deleteObject, deleteObjects, headBucket, headObject } from './s3-requests.ts';
import { placeOf, ResumableS3Writer, S3Writer } from './s3-writer.ts';

/** Stores objects in a bucket of S3, or of a compatible server. Sends no request before the first operation. */
export function createS3Store(options: S3StoreOptions): ObjectStore {
  const { context, close } = connectBucket(options);
  /** The last logged problem. */
  let logged: string | undefined;
  const abortUpload = (key: string, uploadId: string, signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    return withStorageErrors('AbortMultipartUpload', key, signal, () =>
      dropUpload(context, { key, uploadId }, signal),
    );
  };
  return {
    concurrentParts: options.concurrentParts ?? 3,
    shortParts: false,
    partBytes: (index, maxBytes, small) => partBytesFor(options, index, maxBytes, small),
    async create(key, description, signal) {
      assertObjectKey(key);
      signal.throwIfAborted();
      return description.replaces === true
        ? new ResumableS3Writer(context, key, description, signal, null)
        : new S3Writer(context, key, description, signal);
    },
    async resume(key, description, written, signal) {
      assertObjectKey(key);
      signal.throwIfAborted();
      return new ResumableS3Writer(context, key, description, signal, written);
    },
    async dropWritten(key, written, signal) {
      const place = placeOf(written);
      if (place !== null) await abortUpload(key, place.id, signal);
    },
    async head(key, signal) {
      assertObjectKey(key);
      return headObject(context, key, signal);
    },
    read(key, range, signal) {
      assertObjectKey(key);
      return readObject(context, key, range, signal);
    },
    async readWhole(key, maxBytes, signal) {
      assertObjectKey(key);
      return readWholeObject(context, key, maxBytes, signal);
    },
    direct: createS3DirectStore(context),
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
    abortUpload: async ({ key, id }, signal) => abortUpload(key, id, signal),
    async ready(signal) {
      try {
        await headBucket(context, signal);
        logged = undefined;
      } catch (error) {
        const problem = error instanceof StoreUnavailable ? error.problem : undefined;
        // readiness is checked periodically
        if (problem !== undefined && problem !== logged) context.log.warn({ err: error }, problem);
        logged = problem ?? logged;
        throw error;
      }
    },
    close,
  };
}
