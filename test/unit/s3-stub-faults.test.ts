import { crc32 } from 'node:zlib';
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import t, { type Test } from 'tap';
import { checksumText } from '#objects/s3/s3-checksums.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { sdkClient } from '../services/s3-sdk-client.ts';
import type { FaultStage } from '../services/s3-stub/fault-rules.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { openSigned, readAnswer } from '../services/signed-request.ts';

async function setUp(t: Test) {
  const stub = await startS3Stub({ minPartBytes: 1 });
  const s3 = sdkClient(stub);
  t.teardown(() => {
    s3.destroy();
    return stub.close();
  });
  const at = (Key: string) => ({ Bucket: stub.bucket, Key });
  return {
    stub,
    s3,
    at,
    put: (Key: string, Body: string | Buffer = Key) => s3.send(new PutObjectCommand({ ...at(Key), Body })),
  };
}

const stages: FaultStage[] = ['before-body', 'after-body', 'after-work'];

t.test('an error answer strikes before the body, after it, or after the work', async (t) => {
  const { stub, put } = await setUp(t);
  for (const stage of stages) {
    const fault = stub.fault({
      operation: 'PutObject',
      times: 1,
      action: { kind: 'error', status: 503, code: 'SlowDown', stage },
    });
    const error = await rejectionOf(put(stage, 'x'.repeat(3_000_000)));
    t.match(error, { name: 'SlowDown', $metadata: { httpStatusCode: 503 } }, stage);
    t.equal(fault.hits, 1);
    t.match(stub.requests.at(-1), { status: 503, code: 'SlowDown', faults: ['error'] });
  }
  t.strictSame(
    stub.objects().map(({ key }) => key),
    ['after-work'],
    'only the last one was done',
  );
});

t.test('a reset shows as a broken connection at every stage', async (t) => {
  const { stub, put } = await setUp(t);
  for (const stage of stages) {
    stub.fault({ operation: 'PutObject', times: 1, action: { kind: 'reset', stage } });
    t.equal((await rejectionOf(put(stage, 'x'.repeat(3_000_000)))).code, 'ECONNRESET', stage);
    t.match(stub.requests.at(-1), { status: null, code: null, faults: ['reset'] });
  }
  t.strictSame(
    stub.objects().map(({ key }) => key),
    ['after-work'],
  );
  await put('later');
});

t.test('a reset inside the body keeps nothing', async (t) => {
  const { stub, put } = await setUp(t);
  for (const [bytes, length] of [
    [0, 1000],
    [1, 1000],
    [2_000_000, 3_000_000],
    [5_000_000, 1000],
    [1000, 0],
  ] as const) {
    stub.fault({ operation: 'PutObject', times: 1, action: { kind: 'reset-in-body', bytes } });
    const error = await rejectionOf(put('key', Buffer.alloc(length)));
    t.match(error.code, /^(ECONNRESET|EPIPE)$/, `${bytes} of ${length}`);
    t.strictSame(stub.objects(), []);
  }
  await put('key');
});

t.test('a reset inside the body does not wait for the rest', async (t) => {
  const { stub } = await setUp(t);
  stub.fault({ operation: 'PutObject', action: { kind: 'reset-in-body', bytes: 100 } });
  const url = `/${stub.bucket}/key`;
  const req = openSigned({ stub, method: 'PUT', url, headers: { 'content-length': '1000' } });
  const failed = rejectionOf(readAnswer(req));
  req.write(Buffer.alloc(200));
  t.equal((await failed).code, 'ECONNRESET');
});

t.test('what hangs is ended by the client, or by the stub', async (t) => {
  for (const stage of stages) {
    const { stub, put, s3, at } = await setUp(t);
    stub.fault({ operation: 'PutObject', action: { kind: 'hang', stage } });
    const given = new AbortController();
    const command = new PutObjectCommand({ ...at('key'), Body: 'x' });
    const pending = rejectionOf(s3.send(command, { abortSignal: given.signal }));
    while (stub.counts().PutObject !== 1) await new Promise(setImmediate);
    given.abort();
    t.equal((await pending).name, 'AbortError', stage);
    const other = rejectionOf(put('key'));
    while (stub.counts().PutObject !== 2) await new Promise(setImmediate);
    await stub.close();
    t.equal((await other).code, 'ECONNRESET', stage);
    t.equal(stub.openConnections(), 0);
    t.equal(stub.objects().length, stage === 'after-work' ? 1 : 0);
  }
});

t.test('a delay only delays', async (t) => {
  const { stub, put } = await setUp(t);
  stub.fault({ operation: 'PutObject', key: 'slow', action: { kind: 'delay', ms: 400 } });
  const slow = put('slow');
  while (stub.counts().PutObject !== 1) await new Promise(setImmediate);
  t.strictSame(
    stub.requests.map(({ status }) => status),
    [null],
    'it waits',
  );
  await slow;
  t.strictSame(
    stub.objects().map(({ key }) => key),
    ['slow'],
  );
});

t.test('CompleteMultipartUpload may fail with status 200', async (t) => {
  const { stub, s3, at } = await setUp(t);
  for (const stage of ['after-body', 'after-work'] as const) {
    const { UploadId } = await s3.send(
      new CreateMultipartUploadCommand({
        ...at(stage),
        ChecksumAlgorithm: 'CRC32',
        ChecksumType: 'FULL_OBJECT',
      }),
    );
    const upload = { ...at(stage), UploadId };
    const { ETag } = await s3.send(new UploadPartCommand({ ...upload, PartNumber: 1, Body: 'a' }));
    const ChecksumCRC32 = checksumText(crc32('a'));
    const complete = () =>
      s3.send(
        new CompleteMultipartUploadCommand({
          ...upload,
          MultipartUpload: { Parts: [{ PartNumber: 1, ETag, ChecksumCRC32 }] },
        }),
      );
    stub.fault({
      operation: 'CompleteMultipartUpload',
      times: 1,
      action: { kind: 'error-in-ok', code: 'InternalError', stage },
    });
    const error = await rejectionOf(complete());
    t.equal(error.name, 'InternalError', stage);
    t.match(stub.requests.at(-1), {
      operation: 'CompleteMultipartUpload',
      status: 200,
      code: 'InternalError',
    });
    if (stage === 'after-body') {
      t.equal(stub.openUploads().length, 1, 'the upload is open still');
      await complete();
    } else {
      t.equal((await rejectionOf(complete())).name, 'NoSuchUpload', 'it was done');
    }
  }
  t.strictSame(
    stub.objects().map(({ key }) => key),
    ['after-body', 'after-work'],
  );
  t.strictSame(stub.openUploads(), []);
});

t.test('an answer may end too early', async (t) => {
  const { stub, s3, at, put } = await setUp(t);
  await put('key', 'x'.repeat(100_000));
  for (const bytes of [0, 1, 50_000, undefined]) {
    stub.fault({
      operation: 'GetObject',
      times: 1,
      action: { kind: 'truncate', ...(bytes !== undefined && { bytes }) },
    });
    const error = await rejectionOf(
      s3.send(new GetObjectCommand(at('key'))).then(({ Body }) => Body?.transformToString()),
    );
    t.equal(error.code, 'ECONNRESET', `${bytes}`);
  }
  const list = () => s3.send(new ListObjectsV2Command({ Bucket: stub.bucket }));
  stub.fault({ operation: 'ListObjectsV2', times: 1, action: { kind: 'truncate' } });
  t.ok(await rejectionOf(list()));
  t.equal((await list()).KeyCount, 1);
  stub.fault({ operation: 'PutObject', times: 1, action: { kind: 'truncate' } });
  t.equal((await rejectionOf(put('other'))).code, 'ECONNRESET');
  t.equal(stub.objects().length, 2, 'the work was done');
});

t.test('the same seed gives the same faults', async (t) => {
  const run = async (seed: number): Promise<(number | null)[]> => {
    const stub = await startS3Stub({ seed });
    const s3 = sdkClient(stub);
    stub.fault({ probability: 0.5, action: { kind: 'error', status: 500, code: 'InternalError' } });
    for (let index = 0; index < 30; index++) {
      await s3.send(new PutObjectCommand({ Bucket: stub.bucket, Key: 'a', Body: 'x' })).catch(() => {});
    }
    s3.destroy();
    await stub.close();
    return stub.requests.map(({ status }) => status);
  };
  const first = await run(5);
  t.strictSame(new Set(first), new Set([200, 500]));
  t.strictSame(await run(5), first);
  t.notSame(await run(6), first);
});
