import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailable } from '#kernel/errors/store-unavailable.ts';
import type { ObjectInfo } from '../object-store.ts';
import { type ConnectOptions, connectBucket } from './connect-bucket.ts';
import { removeLeftovers } from './s3-cleanup.ts';
import type { S3Context } from './s3-context.ts';
import { isLasting, isRefusal } from './s3-failure.ts';
import { listObjects, listUploads } from './s3-list.ts';
import { readObject } from './s3-read.ts';
import { deleteObjects } from './s3-requests.ts';
import { type StreamedObject, uploadStream } from './s3-stream-upload.ts';

/** A bucket to which a command streams objects of any length. Rejects with storage errors. */
export interface S3Bucket {
  list(prefix: string, signal: AbortSignal): AsyncIterable<ObjectInfo>;
  /** The bytes of an object, also if connections break. @param size of the object */
  read(key: string, size: number, signal: AbortSignal): AsyncIterable<Uint8Array>;
  upload(object: StreamedObject, signal: AbortSignal): Promise<void>;
  /** Also resolves if there are no such objects. */
  delete(keys: readonly string[], signal: AbortSignal): Promise<void>;
  /** Drops uploads that were neither completed nor aborted, if the key has the right to. */
  dropUploads(prefix: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export type S3BucketOptions = ConnectOptions;

/** Sends no request before the first operation. */
export function openS3Bucket(options: S3BucketOptions): S3Bucket {
  const { context, close } = connectBucket(options);
  return {
    list: (prefix, signal) => listObjects(context, prefix, signal),
    read: (key, size, signal) => readWhole(context, key, size, signal),
    upload: (object, signal) => uploadStream(context, object, signal),
    async delete(keys, signal) {
      const left = await deleteObjects(context, keys, signal);
      if (left.length > 0) throw new Error(`S3 kept ${left.length} objects, such as ${left[0]}`);
    },
    dropUploads: (prefix, signal) => dropUploads(context, prefix, signal),
    close,
  };
}

/** Failures in a row, without a byte between them, after which a read ends. */
const mostFailures = 5;

/** Continues after the last byte if the connection breaks. */
async function* readWhole(
  context: S3Context,
  key: string,
  size: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  let failures = 0;
  for (let at = 0; at < size; ) {
    try {
      for await (const chunk of readObject(context, key, { start: at, end: size - 1 }, signal)) {
        at += chunk.byteLength;
        failures = 0;
        yield chunk;
      }
    } catch (error) {
      const isPassing =
        error instanceof StoreUnavailable && error.problem === undefined && !isLasting(error.cause);
      if (!isPassing || ++failures === mostFailures) throw error;
      await sleep(context.timing.firstPause * 2 ** failures, undefined, { signal });
    }
  }
}

async function dropUploads(context: S3Context, prefix: string, signal: AbortSignal): Promise<void> {
  try {
    for await (const { key, id } of listUploads(context, prefix, signal))
      if (key.startsWith(prefix)) await removeLeftovers(context, { key, uploadId: id });
  } catch (error) {
    if (!(error instanceof Error) || !isRefusal(error.cause)) throw error;
    context.log.warn({ err: error }, 'uploads of an interrupted command can not be listed');
  }
}
