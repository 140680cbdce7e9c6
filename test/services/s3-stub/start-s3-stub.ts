import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { discardBlob, folderBlobs, memoryBlob, type OpenBlob } from './blobs.ts';
import { BucketState, type MultipartUpload, type StoredObject } from './bucket-state.ts';
import { type Fault, type FaultRule, FaultRules } from './fault-rules.ts';
import { handleRequest, type LoggedRequest } from './handle-request.ts';
import type { OperationName } from './operations.ts';
import { seededRandom } from './seeded-random.ts';

export interface S3StubOptions {
  /** `discard` counts bytes and keeps none, so that a read fails; a folder must exist and is the caller's to remove. */
  readonly storage?: 'memory' | 'discard' | { readonly folder: string };
  /** S3's own limit is 5 MiB, for all parts but the last. */
  readonly minPartBytes?: number;
  /** What a list answers at once; S3's is 1000. */
  readonly pageSize?: number;
  /** Whether ETags of what is sent at once are MD5, as those of S3; costs CPU. */
  readonly md5Etags?: boolean;
  /** Lower-case names of headers that this server does not know. */
  readonly ignores?: readonly string[];
  /** Lower-case names of headers that this server answers with 501. */
  readonly refuses?: readonly string[];
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
  /** Lists show all parts but these, as a server does that lists them late. */
  listWithout(partNumbers: readonly number[]): void;
  /** Makes all that is stored so many milliseconds older. */
  age(milliseconds: number): void;
  objects(): ObjectView[];
  openUploads(): UploadView[];
  /** All requests since the start, by operation. */
  counts(): Partial<Record<OperationName | 'unknown', number>>;
  openConnections(): number;
  /** Cuts all connections; resolves when no request is under way any more. */
  close(): Promise<void>;
}

/** What a test sees of an object. */
export interface ObjectView extends Pick<StoredObject, 'key' | 'crc32' | 'etag' | 'lastModified'> {
  readonly size: number;
  readonly contentType: string;
  readonly contentDisposition: string | undefined;
  /** x-amz-meta-*, without the prefix. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Null unless storage is memory. */
  readonly bytes: Buffer | null;
}

export interface UploadView extends Pick<MultipartUpload, 'key' | 'uploadId' | 'initiated'> {
  readonly parts: readonly {
    readonly partNumber: number;
    readonly size: number;
    readonly crc32: number;
  }[];
}

/** An S3 server for tests on loopback: one bucket, path-style addresses. */
export async function startS3Stub(options: S3StubOptions = {}): Promise<S3Stub> {
  const credentials = {
    accessKeyId: 'STUBACCESSKEY0000001',
    secretAccessKey: 'stub-secret-access-key-0000000000000001',
    region: 'us-east-1',
  };
  const {
    minPartBytes = 5 * 1024 ** 2,
    pageSize = 1000,
    md5Etags = false,
    ignores = [],
    refuses = [],
  } = options;
  const bucket = new BucketState();
  const faults = new FaultRules(seededRandom(options.seed ?? 1));
  const requests: LoggedRequest[] = [];
  const unlisted = new Set<number>();
  let ids = 0;
  const context = {
    stub: { bucket, minPartBytes, pageSize, md5Etags, unlisted, newId: () => `${++ids}`.padStart(32, '0') },
    bucketName: 'stub-bucket',
    credentials,
    openBlob: storageOf(options.storage),
    faults,
    ignores,
    refuses,
    requests,
  };
  const underWay = new Set<Promise<void>>();
  const serve = (req: IncomingMessage, res: ServerResponse): void => {
    const done = handleRequest(req, res, context).finally(() => underWay.delete(done));
    underWay.add(done);
  };
  // keepAliveTimeout: longer than any client keeps an idle connection, or requests meet a closing one
  const server = createServer({ keepAliveTimeout: 120_000, requestTimeout: 0 }, serve);
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    port,
    bucket: context.bucketName,
    ...credentials,
    requests,
    fault: (rule) => faults.add(rule),
    clearFaults: () => faults.clear(),
    listWithout(partNumbers) {
      unlisted.clear();
      for (const number of partNumbers) unlisted.add(number);
    },
    age: (milliseconds) => bucket.age(milliseconds),
    objects: () => bucket.objects().map(objectView),
    openUploads: () => bucket.uploads().map(uploadView),
    counts() {
      const counts: Record<string, number> = {};
      for (const { operation } of requests)
        counts[operation ?? 'unknown'] = (counts[operation ?? 'unknown'] ?? 0) + 1;
      return counts;
    },
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

function storageOf(storage: S3StubOptions['storage'] = 'memory'): OpenBlob {
  if (storage === 'memory') return memoryBlob;
  return storage === 'discard' ? discardBlob : folderBlobs(storage.folder);
}

function objectView({ key, etag, crc32, headers, lastModified, blob }: StoredObject): ObjectView {
  const prefix = 'x-amz-meta-';
  const metadata = Object.entries(headers).filter(([name]) => name.startsWith(prefix));
  return {
    key,
    etag,
    crc32,
    lastModified,
    size: blob.size,
    contentType: headers['content-type'] ?? '',
    contentDisposition: headers['content-disposition'],
    metadata: Object.fromEntries(metadata.map(([name, value]) => [name.slice(prefix.length), value])),
    // joining a large object costs, and most tests don't look
    get bytes() {
      return blob.bytes();
    },
  };
}

function uploadView({ key, uploadId, initiated, parts }: MultipartUpload): UploadView {
  const listed = [...parts.values()].sort((a, b) => a.partNumber - b.partNumber);
  return {
    key,
    uploadId,
    initiated,
    parts: listed.map(({ partNumber, blob, crc32 }) => ({ partNumber, size: blob.size, crc32 })),
  };
}
