import type { S3Client } from '@aws-sdk/client-s3';
import { unobserved } from '../../telemetry/observe-call.ts';
import { Cleanups } from './cleanups.ts';
import { Http1Pool } from './http1/http1-pool.ts';
import { s3Address } from './s3-address.ts';
import { connectS3 } from './s3-client.ts';
import type { S3Context } from './s3-context.ts';
import { type S3StoreOptions, s3Timing } from './s3-options.ts';
import { createPartSender, observedParts } from './s3-send-part.ts';

/** Connections for parts, and as many for small requests; many parts at once gain nothing, and each holds memory. */
const writeSockets = 64;
/** Connections for reading, apart from the others: who reads slowly holds one for long. */
const readSockets = 1024;
/** How long closing waits for what is being taken back; within what a stop may take in all. Milliseconds. */
const closePatience = 5_000;

/** Every way to the bucket: parts by our own client, small requests and reads by the SDK's. */
export interface S3Connections {
  readonly context: S3Context;
  /** For what may be read slowly. */
  readonly reader: S3Client;
  /** Waits a little for what is being taken back. */
  close(): Promise<void>;
}

/** Nothing is sent before it is needed. */
export function openS3Connections(options: S3StoreOptions): S3Connections {
  const { bucket, log, observe = unobserved, maxSockets = writeSockets } = options;
  const timing = s3Timing(options.timing);
  const shared = { timing, log, observe };
  const writing = connectS3(options, { ...shared, credentials: options.credentials, maxSockets });
  const { client } = writing;
  const { credentials } = client.config;
  const reading = connectS3(options, { ...shared, credentials, maxSockets: readSockets });
  const address = s3Address(client.config, options);
  const pool = new Http1Pool({ base: address.base, limit: maxSockets, connectTimeout: timing.connect });
  const cleanups = new Cleanups();
  const sendPart = observedParts(createPartSender({ client, pool, address, timing }), observe);
  return {
    context: { bucket, client, address, sendPart, timing, checksums: { on: true }, cleanups, log },
    reader: reading.client,
    async close() {
      const left = await cleanups.settled(closePatience);
      if (left > 0) log.warn({ writes: left }, 'the stop leaves failed objects to the janitor');
      for (const { client, agent } of [writing, reading]) {
        client.destroy();
        agent.destroy();
      }
      pool.close();
    },
  };
}
