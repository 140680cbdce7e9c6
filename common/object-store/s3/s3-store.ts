import { DeleteObjectCommand, HeadBucketCommand, HeadObjectCommand } from '@aws-sdk/client-s3';
import { unobserved } from '../../calls/observe-call.ts';
import { Http1Pool } from '../../http-client/http1-pool.ts';
import { partBytesFor } from '../../part-sizes/s3-part-sizes.ts';
import { assertKeyPrefix, assertObjectKey } from '../object-key.ts';
import type { ObjectStore } from '../object-store.ts';
import { Cleanups } from './cleanups.ts';
import { s3Address } from './s3-address.ts';
import { dropUpload, dropUploadsOf } from './s3-cleanup.ts';
import { connectS3 } from './s3-client.ts';
import { control, type S3Context } from './s3-context.ts';
import { isStatus, storageError } from './s3-failure.ts';
import { lastPartAt, listObjects, listUploads } from './s3-list.ts';
import { givenMetadata, givenType } from './s3-metadata.ts';
import { type S3StoreOptions, s3Timing } from './s3-options.ts';
import { readObject } from './s3-read.ts';
import { createPartSender, observedParts } from './s3-send-part.ts';
import { S3Writer } from './s3-writer.ts';

/** Connections for parts, and as many for small requests; many parts at once gain nothing, and each holds memory. */
const writeSockets = 64;
/** Connections for reading, apart from the others: who reads slowly holds one for long. */
const readSockets = 1024;
/** How long closing waits for what is being taken back; within what a stop may take in all. Milliseconds. */
const closePatience = 5_000;

/** Keeps objects in a bucket of S3, or of a server that speaks its protocol. Nothing is sent before it is needed. */
export function createS3Store(options: S3StoreOptions): ObjectStore {
  const { bucket, log, observe = unobserved } = options;
  const timing = s3Timing(options.timing);
  const writing = connectS3(options, {
    credentials: options.credentials,
    maxSockets: options.maxSockets ?? writeSockets,
    timing,
    log,
    observe,
  });
  const reading = connectS3(options, {
    credentials: writing.client.config.credentials,
    maxSockets: readSockets,
    timing,
    log,
    observe,
  });
  const { client } = writing;
  const address = s3Address(client.config, options);
  const pool = new Http1Pool({
    base: address.base,
    limit: options.maxSockets ?? writeSockets,
    connectTimeout: timing.connect,
  });
  const context: S3Context = {
    bucket,
    client,
    address,
    sendPart: observedParts(createPartSender({ client, pool, address, timing }), observe),
    timing,
    checksums: { on: true },
    cleanups: new Cleanups(),
    log,
  };
  return {
    concurrentParts: options.concurrentParts ?? 3,
    partBytes: (index, maxBytes, small) => partBytesFor(options, index, maxBytes, small),
    async create(key, description, signal) {
      assertObjectKey(key);
      signal.throwIfAborted();
      return new S3Writer(context, key, description, signal);
    },
    async head(key, signal) {
      assertObjectKey(key);
      const command = new HeadObjectCommand({ Bucket: bucket, Key: key });
      const found = await control(context, { operation: 'HeadObject', key, signal }, async (abortSignal) => {
        try {
          return await client.send(command, { abortSignal });
        } catch (error) {
          if (isStatus(error, 404)) return null;
          throw error;
        }
      });
      return (
        found && {
          key,
          size: found.ContentLength ?? 0,
          lastModified: found.LastModified ?? new Date(0),
          contentType: givenType(found.Metadata ?? {}) ?? found.ContentType ?? 'application/octet-stream',
          metadata: givenMetadata(found.Metadata ?? {}),
        }
      );
    },
    read(key, range, signal) {
      assertObjectKey(key);
      return readObject(context, reading.client, { key, range }, signal);
    },
    async delete(key, signal) {
      assertObjectKey(key);
      const command = new DeleteObjectCommand({ Bucket: bucket, Key: key });
      await control(context, { operation: 'DeleteObject', key, signal }, async (abortSignal) => {
        try {
          await client.send(command, { abortSignal });
        } catch (error) {
          if (!isStatus(error, 404)) throw error;
        }
      });
    },
    list(prefix, signal) {
      assertKeyPrefix(prefix);
      return listObjects(context, prefix, signal);
    },
    listOpenUploads(signal) {
      return listUploads(context, '', signal);
    },
    lastWrittenAt: (upload, signal) => lastPartAt(context, upload, signal),
    isUploadOf: (upload, key) => upload.key === key,
    async abortUpload({ key, id }, signal) {
      signal.throwIfAborted();
      try {
        await dropUpload(context, key, id, signal);
      } catch (error) {
        signal.throwIfAborted();
        throw storageError('AbortMultipartUpload', key, error);
      }
    },
    async abortUploadsOf(key, signal) {
      assertObjectKey(key);
      signal.throwIfAborted();
      try {
        await dropUploadsOf(context, key, signal);
      } catch (error) {
        signal.throwIfAborted();
        throw storageError('AbortMultipartUpload', key, error);
      }
    },
    async ready(signal) {
      const command = new HeadBucketCommand({ Bucket: bucket });
      await control(context, { operation: 'HeadBucket', key: '', signal }, (abortSignal) =>
        client.send(command, { abortSignal }),
      );
    },
    async close() {
      const left = await context.cleanups.settled(closePatience);
      if (left > 0) log.warn({ writes: left }, 'the stop leaves failed objects to the janitor');
      for (const { client, agent } of [writing, reading]) {
        client.destroy();
        agent.destroy();
      }
      pool.close();
    },
  };
}
