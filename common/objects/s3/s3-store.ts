import { partBytesFor } from '#kernel/config/s3-part-sizes.ts';
import { StoreUnavailable } from '#kernel/errors/store-unavailable.ts';
import { Http1Pool } from '#kernel/http-client/http1-pool.ts';
import { unobserved } from '#kernel/telemetry/observe-call.ts';
import { assertKeyPrefix, assertObjectKey } from '../object-key.ts';
import type { ObjectStore } from '../object-store.ts';
import { Cleanups } from './cleanups.ts';
import { publicPlace, s3Address } from './s3-address.ts';
import { dropUpload } from './s3-cleanup.ts';
import { connectS3 } from './s3-client.ts';
import type { S3Context } from './s3-context.ts';
import { createS3DirectStore } from './s3-direct-store.ts';
import { withStorageErrors } from './s3-failure.ts';
import { listObjects, listUploads } from './s3-list.ts';
import { lastPartAt } from './s3-list-parts.ts';
import { type S3StoreOptions, s3Timing } from './s3-options.ts';
import { createS3Presigner } from './s3-presigner.ts';
import { readObject, readWholeObject } from './s3-read.ts';
import { deleteObject, deleteObjects, headBucket, headObject } from './s3-requests.ts';
import { createPartSender } from './s3-send-part.ts';
import { createS3Sender, observedSender } from './s3-sender.ts';
import { placeOf, ResumableS3Writer, S3Writer } from './s3-writer.ts';

/** Connections for parts, as many for small requests, and as many for the SDK's. More concurrent parts gain nothing, and each holds memory. */
const writeSockets = 64;
/** Separate connections for reading, because a slow reader holds one for long. */
const readSockets = 1024;
/** S3 keeps idle connections for longer. Milliseconds. */
const idleLimit = 10_000;
/** S3 answers a part with headers, and an error with a few lines of XML. Bytes. */
const maxAnswer = 64 * 1024;
/** How long closing waits for running cleanups; part of the shutdown time. Milliseconds. */
const closePatience = 5_000;

/** Stores objects in a bucket of S3, or of a compatible server. Sends no request before the first operation. */
export function createS3Store(options: S3StoreOptions): ObjectStore {
  const { context, close } = connect(options);
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

/** The clients of the bucket: ours for parts and small requests about objects, the SDK's for reads and the rest. */
function connect(options: S3StoreOptions): { readonly context: S3Context; close(): Promise<void> } {
  const { bucket, log, observe = unobserved, maxSockets = writeSockets } = options;
  const timing = s3Timing(options.timing);
  const shared = { ...options, timing, observe };
  const writing = connectS3({ ...shared, maxSockets });
  const { client } = writing;
  const reading = connectS3({ ...shared, credentials: client.config.credentials, maxSockets: readSockets });
  const address = s3Address(client.config, options);
  const openPool = () =>
    new Http1Pool({
      base: address.base,
      name: 'the object store',
      limit: maxSockets,
      connectTimeout: timing.connect,
      idleLimit,
      maxAnswer,
    });
  // small requests don't wait for parts
  const [parts, small] = [openPool(), openPool()];
  const senderOver = (pool: Http1Pool) =>
    observedSender(createS3Sender({ client, pool, address, timing }), observe);
  const publicAddress = s3Address(client.config, publicPlace(options));
  const presign = createS3Presigner({ client, address: publicAddress, timing });
  const cleanups = new Cleanups();
  const checksums = { on: true };
  return {
    context: {
      bucket,
      client,
      reader: reading.client,
      address,
      sendPart: createPartSender(senderOver(parts)),
      send: senderOver(small),
      presign,
      timing,
      checksums,
      cleanups,
      deploymentId: options.deploymentId,
      log,
    },
    /** Waits a little for running cleanups. */
    async close() {
      const left = await cleanups.settled(closePatience);
      if (left > 0) log.warn({ writes: left }, 'the stop leaves failed objects to the janitor');
      for (const { client, agent } of [writing, reading]) {
        client.destroy();
        agent.destroy();
      }
      parts.close();
      small.close();
    },
  };
}
