/** Streams of any length that lib-storage uploads, while the store or the stream fails. */
import t, { type Test } from 'tap';
import { openS3Bucket } from '#objects/s3/s3-bucket.ts';
import { type S3Stub, type S3StubOptions, startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { silentLog } from '../services/silent-log.ts';
import { collect, patternBytes } from './object-store-contract.ts';

const megabyte = 1024 ** 2;
const part = 8 * megabyte;
const never = new AbortController().signal;

async function openBucket(t: Test, options: S3StubOptions & { readonly quiet?: number } = {}) {
  const stub = await startS3Stub(options);
  const log = silentLog();
  const bucket = openS3Bucket({
    ...stub,
    credentials: stub,
    forcePathStyle: true,
    timing: {
      request: 30_000,
      quiet: options.quiet ?? 5_000,
      settle: 200,
      firstPause: 1,
      longestPause: 10,
    },
    log,
  });
  t.teardown(async () => {
    await bucket.close();
    await stub.close();
  });
  return { stub, bucket, log };
}

/** Chunks of another size than parts. */
async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 1_000_003) yield bytes.subarray(at, at + 1_000_003);
}

function nothingIsLeft(t: Test, stub: S3Stub): void {
  t.strictSame(stub.openUploads(), []);
  t.strictSame(stub.objects(), []);
}

t.test('objects of any length arrive as they are', async (t) => {
  const { stub, bucket, log } = await openBucket(t);
  for (const size of [0, 1, part - 1, part, part + 1, 2 * part, 20 * megabyte + 7]) {
    const [key, bytes] = [`a/Größe %41/${size}`, patternBytes(size)];
    await bucket.upload({ key, chunks: chunksOf(bytes), bytes: size }, never);
    const read = await collect(bucket.read(key, size, never));
    t.ok(bytes.equals(read), `${size} bytes`);
    await bucket.delete([key], never);
  }
  t.equal(stub.counts().PutObject, 4);
  nothingIsLeft(t, stub);
  t.strictSame(log.failures, []);
});

t.test('requests that fail for a while are repeated', async (t) => {
  const { stub, bucket } = await openBucket(t);
  stub.fault({ times: 1, action: { kind: 'error', status: 503, code: 'SlowDown' }, operation: 'PutObject' });
  await bucket.upload({ key: 'small', chunks: chunksOf(patternBytes(5)), bytes: 5 }, never);
  const bytes = patternBytes(3 * part);
  stub.fault({
    times: 1,
    action: { kind: 'reset', stage: 'after-work' },
    operation: 'CreateMultipartUpload',
  });
  stub.fault({ times: 1, action: { kind: 'reset-in-body', bytes: 1000 }, operation: 'UploadPart' });
  stub.fault({
    times: 1,
    action: { kind: 'reset', stage: 'after-work' },
    operation: 'CompleteMultipartUpload',
  });
  stub.fault({ times: 2, action: { kind: 'truncate' }, operation: 'GetObject' });
  await bucket.upload({ key: 'large', chunks: chunksOf(bytes), bytes: bytes.length }, never);
  t.ok(bytes.equals(await collect(bucket.read('large', bytes.length, never))));
  t.strictSame(stub.openUploads(), [], 'the upload of which the answer was lost is removed');
});

t.test('nothing is left of an upload that fails', async (t) => {
  const bytes = patternBytes(4 * part);
  for (const operation of ['CreateMultipartUpload', 'UploadPart', 'CompleteMultipartUpload'] as const) {
    const { stub, bucket } = await openBucket(t);
    const action = { kind: 'error', status: 403, code: 'AccessDenied' } as const;
    stub.fault({ operation, action, after: operation === 'UploadPart' ? 1 : 0 });
    await t.rejects(bucket.upload({ key: 'k', chunks: chunksOf(bytes), bytes: bytes.length }, never), {
      name: 'StoreUnavailable',
      problem: new RegExp(`^S3 refuses ${operation} \\(403 AccessDenied\\)`),
    });
    nothingIsLeft(t, stub);
  }
});

t.test('a part that fails ends the upload, although the stream goes on', async (t) => {
  const { stub, bucket } = await openBucket(t);
  stub.fault({ operation: 'UploadPart', action: { kind: 'error', status: 403, code: 'AccessDenied' } });
  async function* endless(): AsyncGenerator<Buffer> {
    yield patternBytes(part + 1);
    await new Promise(() => {});
  }
  await t.rejects(bucket.upload({ key: 'k', chunks: endless(), bytes: undefined }, never), /AccessDenied/);
  nothingIsLeft(t, stub);
});

t.test('an error of the stream is the error of the upload', async (t) => {
  const { stub, bucket } = await openBucket(t);
  for (const size of [5, part + 1, 3 * part]) {
    async function* broken(): AsyncGenerator<Buffer> {
      yield* chunksOf(patternBytes(size));
      throw new Error('broken off');
    }
    await t.rejects(bucket.upload({ key: 'k', chunks: broken(), bytes: undefined }, never), {
      message: 'broken off',
    });
    nothingIsLeft(t, stub);
  }
});

t.test('a signal ends an upload, and parts that arrive late are removed', async (t) => {
  const { stub, bucket } = await openBucket(t);
  const stop = new AbortController();
  stub.fault({ operation: 'UploadPart', action: { kind: 'delay', ms: 300, stage: 'after-body' } });
  const bytes = patternBytes(4 * part);
  const upload = bucket.upload({ key: 'k', chunks: chunksOf(bytes), bytes: bytes.length }, stop.signal);
  upload.catch(() => {});
  while ((stub.counts().UploadPart ?? 0) < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  stop.abort(new Error('stopped'));
  await t.rejects(upload, { message: 'stopped' });
  nothingIsLeft(t, stub);
  await t.rejects(bucket.upload({ key: 'k', chunks: chunksOf(bytes), bytes: 1 }, stop.signal), {
    message: 'stopped',
  });
});

t.test('a slow store slows the stream down', async (t) => {
  const { stub, bucket } = await openBucket(t);
  stub.fault({ operation: 'UploadPart', action: { kind: 'hang' } });
  const stop = new AbortController();
  let given = 0;
  async function* counted(): AsyncGenerator<Buffer> {
    for (; given < 64; given++) yield Buffer.alloc(megabyte);
  }
  const upload = bucket.upload({ key: 'k', chunks: counted(), bytes: 64 * megabyte }, stop.signal);
  upload.catch(() => {});
  while ((stub.counts().UploadPart ?? 0) < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.ok(given <= 26, `${given} MiB were read`);
  stop.abort(new Error('stopped'));
  await t.rejects(upload, { message: 'stopped' });
  nothingIsLeft(t, stub);
});
