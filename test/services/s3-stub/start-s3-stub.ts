import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { BlobStorage } from './blob.ts';
import { BucketState } from './bucket-state.ts';
import { discardBlobs } from './discard-blobs.ts';
import { type Fault, type FaultRule, FaultRules } from './fault-rules.ts';
import { folderBlobs } from './folder-blobs.ts';
import { handleRequest } from './handle-request.ts';
import { memoryBlobs } from './memory-blobs.ts';
import type { StubContext } from './operation.ts';
import { errorDocument } from './render-xml.ts';
import { type LoggedRequest, RequestLog } from './request-log.ts';
import { seededRandom } from './seeded-random.ts';
import { type ObjectView, objectView, type UploadView, uploadView } from './views.ts';

export interface S3StubOptions {
  readonly bucket?: string;
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  readonly region?: string;
  /** `discard` counts bytes and keeps none; a folder must exist and is the caller's to remove. */
  readonly storage?: 'memory' | 'discard' | { readonly folder: string };
  /** S3's own limit is 5 MiB, for all parts but the last. */
  readonly minPartBytes?: number;
  /** What a list answers at once; S3's is 1000. */
  readonly pageSize?: number;
  /** For rules with a probability. */
  readonly seed?: number;
}

export interface S3Stub {
  readonly endpoint: string;
  readonly port: number;
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Oldest first. */
  readonly requests: readonly LoggedRequest[];
  /** Rules are tried in the order they were added, and all that match strike. */
  fault(rule: FaultRule): Fault;
  clearFaults(): void;
  objects(): ObjectView[];
  openUploads(): UploadView[];
  /** All requests since the start, by operation. */
  counts(): ReturnType<RequestLog['counts']>;
  openConnections(): number;
  /** Cuts all connections; resolves when no request is under way any more. */
  close(): Promise<void>;
}

/** An S3 server for tests on loopback: one bucket, path-style addresses. */
export async function startS3Stub(options: S3StubOptions = {}): Promise<S3Stub> {
  const credentials = {
    accessKeyId: options.accessKeyId ?? 'STUBACCESSKEY0000001',
    secretAccessKey: options.secretAccessKey ?? 'stub-secret-access-key-0000000000000001',
    region: options.region ?? 'us-east-1',
  };
  const bucketName = options.bucket ?? 'stub-bucket';
  const bucket = new BucketState();
  const faults = new FaultRules(seededRandom(options.seed ?? 1));
  const log = new RequestLog();
  let requestIds = 0;
  const context = {
    stub: stubContext(bucket, options),
    bucketName,
    credentials,
    storage: storageOf(options.storage ?? 'memory'),
    faults,
    log,
    newRequestId: () => `STUB${`${++requestIds}`.padStart(12, '0')}`,
  };
  const underWay = new Set<Promise<void>>();
  const serve = (req: IncomingMessage, res: ServerResponse): void => {
    const done = handleRequest(req, res, context).finally(() => underWay.delete(done));
    underWay.add(done);
  };
  // keepAliveTimeout: longer than any client keeps an idle connection, or requests meet a closing one
  const server = createServer({ keepAliveTimeout: 120_000, requestTimeout: 0 }, serve);
  server.on('clientError', answerGarbage);
  const sockets = trackSockets(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    port,
    bucket: bucketName,
    ...credentials,
    requests: log.requests,
    fault: (rule) => faults.add(rule),
    clearFaults: () => faults.clear(),
    objects: () => bucket.objects().map(objectView),
    openUploads: () => bucket.uploads().map(uploadView),
    counts: () => log.counts(),
    openConnections: () => sockets.size,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
      await Promise.all(underWay);
    },
  };
}

function stubContext(bucket: BucketState, { minPartBytes, pageSize }: S3StubOptions): StubContext {
  let ids = 0;
  const nextId = (): string => `${++ids}`.padStart(32, '0');
  return {
    bucket,
    minPartBytes: minPartBytes ?? 5 * 1024 ** 2,
    pageSize: pageSize ?? 1000,
    newUploadId: () => `upload.${nextId()}`,
    newEtag: nextId,
  };
}

function storageOf(storage: NonNullable<S3StubOptions['storage']>): BlobStorage {
  if (storage === 'memory') return memoryBlobs;
  return storage === 'discard' ? discardBlobs : folderBlobs(storage.folder);
}

function trackSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

/** What node's HTTP parser refuses. */
function answerGarbage(_error: Error, socket: Socket): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const xml = errorDocument([
    ['Code', 'BadRequest'],
    ['Message', 'An error occurred when parsing the HTTP request.'],
  ]);
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: application/xml\r\nContent-Length: ${Buffer.byteLength(xml)}\r\nConnection: close\r\n\r\n${xml}`,
  );
}
