import { Http1Pool } from '#kernel/http-client/http1-pool.ts';
import { unobserved } from '#kernel/telemetry/observe-call.ts';
import { Cleanups } from './cleanups.ts';
import { publicPlace, s3Address } from './s3-address.ts';
import { connectS3 } from './s3-client.ts';
import type { S3Context } from './s3-context.ts';
import { type S3StoreOptions, s3Timing } from './s3-options.ts';
import { createS3Presigner } from './s3-presigner.ts';
import { createPartSender } from './s3-send-part.ts';
import { createS3Sender, observedSender } from './s3-sender.ts';

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

export type ConnectOptions = Omit<S3StoreOptions, 'partBytes' | 'maxObjectBytes'>;

/** The clients of the bucket: ours for parts and small requests about objects, the SDK's for reads and the rest. */
export function connectBucket(options: ConnectOptions): {
  readonly context: S3Context;
  close(): Promise<void>;
} {
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
