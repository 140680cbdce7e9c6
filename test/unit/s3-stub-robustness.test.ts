import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import t, { type Test } from 'tap';
import { connectRaw } from '../services/raw-http.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { sdkClient } from '../services/s3-sdk-client.ts';
import { crc32ToBase64 } from '../services/s3-stub/crc32-combine.ts';
import { type S3StubOptions, startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { readAnswer, sendSigned, signHead } from '../services/signed-request.ts';

const checksums = { ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' } as const;

async function setUp(t: Test, options: S3StubOptions = {}) {
  const stub = await startS3Stub(options);
  const s3 = sdkClient(stub);
  t.teardown(() => {
    s3.destroy();
    return stub.close();
  });
  return { stub, s3, at: (Key: string) => ({ Bucket: stub.bucket, Key }) };
}

t.test('garbage is refused, and the stub lives on', async (t) => {
  const { stub, s3, at } = await setUp(t);
  for (const bytes of [
    'garbage\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    'PUT /a HTTP/1.1\r\nContent-Length: x\r\n\r\n',
  ]) {
    const raw = connectRaw(stub.endpoint);
    raw.send(bytes);
    t.match(await raw.closed(), /^HTTP\/1\.1 400 [\s\S]*<Code>BadRequest</, JSON.stringify(bytes));
  }
  const { bucket } = stub;
  const cases: [string, string, number][] = [
    ['GET', '/', 501],
    ['PATCH', `/${bucket}/a`, 501],
    ['POST', `/${bucket}/a`, 501],
    ['PUT', `/${bucket}`, 501],
    ['GET', `/${bucket}?acl`, 501],
    ['GET', `/${bucket}/%zz`, 400],
    ['GET', `/${bucket}/a?%ff`, 400],
    ['GET', `/${bucket}/a`, 403],
    ['PUT', `/${bucket}/a`, 403],
    ['POST', `/${bucket}?delete`, 403],
  ];
  for (const [method, path, status] of cases) {
    const raw = connectRaw(stub.endpoint);
    raw.send(`${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbody`);
    const answer = await raw.closed();
    t.match(answer, new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*<Error><Code>\\w+<`), `${method} ${path}`);
  }
  t.equal(stub.counts().unknown, 7);
  const url = `/${bucket}/a?max-parts=-1&uploadId=${'x'.repeat(5)}`;
  t.match(await sendSigned({ stub, method: 'GET', url }), { status: 404 });
  await s3.send(new PutObjectCommand({ ...at('a'), Body: 'still here' }));
});

t.test('a request that breaks off leaves nothing', async (t) => {
  const { stub, s3, at } = await setUp(t);
  const { UploadId } = await s3.send(
    new CreateMultipartUploadCommand({
      ...at('key'),
      ...checksums,
    }),
  );
  const urls = [`/${stub.bucket}/key`, `/${stub.bucket}/key?partNumber=1&uploadId=${UploadId}`];
  for (const url of urls) {
    for (const sent of [0, 1, 50_000]) {
      const head = signHead({ stub, method: 'PUT', url, payloadHash: 'UNSIGNED-PAYLOAD' });
      const before = stub.requests.length;
      const req = request(head.url, {
        method: 'PUT',
        headers: { ...head.headers, 'content-length': '100000' },
      });
      const failed = rejectionOf(readAnswer(req));
      req.write(Buffer.alloc(sent));
      req.flushHeaders();
      while (stub.requests.length === before) await new Promise(setImmediate);
      req.destroy();
      t.equal((await failed).code, 'ECONNRESET');
    }
  }
  while (stub.openConnections() > 1) await new Promise(setImmediate);
  t.strictSame(
    stub.requests.slice(1).map(({ operation, status }) => [operation, status]),
    [
      ...Array.from({ length: 3 }, () => ['PutObject', null]),
      ...Array.from({ length: 3 }, () => ['UploadPart', null]),
    ],
  );
  t.strictSame(stub.objects(), []);
  t.strictSame(stub.openUploads()[0]?.parts, []);
});

t.test('an early refusal is read by a client that still sends', async (t) => {
  const { stub, s3, at } = await setUp(t);
  const refused = s3.send(
    new UploadPartCommand({ ...at('key'), UploadId: 'none', PartNumber: 1, Body: Buffer.alloc(3_000_000) }),
  );
  t.equal(
    (await rejectionOf(refused)).name,
    'NoSuchUpload',
    'with Expect: 100-continue, as the SDK sends it',
  );
  const body = Buffer.alloc(20_000_000);
  const url = `/${stub.bucket}/key?partNumber=1&uploadId=none`;
  const answer = await sendSigned({ stub, method: 'PUT', url, body });
  t.match(answer, { status: 404, body: /<Code>NoSuchUpload</ }, 'and without');
});

t.test('a store that fails refuses the body, and the connection serves on', async (t) => {
  const { stub, s3, at } = await setUp(t, { storage: { folder: join(tmpdir(), 'there', 'is', 'none') } });
  const body = Buffer.alloc(1_000_000);
  const error = await rejectionOf(s3.send(new PutObjectCommand({ ...at('a'), Body: body })));
  t.match(error, { name: 'InternalError', message: /ENOENT/ });
  t.equal((await rejectionOf(s3.send(new HeadObjectCommand(at('a'))))).name, 'NotFound');
  t.equal(stub.openConnections(), 1);
});

t.test('without Expect the connection serves the next request after a refusal', async (t) => {
  const { stub, s3, at } = await setUp(t);
  await rejectionOf(s3.send(new PutObjectCommand({ Bucket: 'other', Key: 'a', Body: 'x'.repeat(100_000) })));
  await s3.send(new PutObjectCommand({ ...at('a'), Body: 'x' }));
  t.equal(stub.openConnections(), 1);
});

t.test('the stub closes with requests under way', async (t) => {
  const { stub, s3, at } = await setUp(t);
  stub.fault({ action: { kind: 'delay', ms: 3_600_000 } });
  const pending = [1, 2, 3].map((number) =>
    rejectionOf(s3.send(new PutObjectCommand({ ...at(`${number}`), Body: 'x' }))),
  );
  while (stub.counts().PutObject !== 3) await new Promise(setImmediate);
  t.equal(stub.openConnections(), 3);
  await stub.close();
  for (const error of await Promise.all(pending)) t.equal(error.code, 'ECONNRESET');
});

t.test('a store that discards knows sizes and checksums only', async (t) => {
  const { stub, s3, at } = await setUp(t, { storage: 'discard' });
  const body = Buffer.alloc(6_000_000, 'x');
  await s3.send(new PutObjectCommand({ ...at('put'), Body: body }));
  const created = await s3.send(
    new CreateMultipartUploadCommand({
      ...at('parts'),
      ...checksums,
    }),
  );
  const upload = { ...at('parts'), UploadId: created.UploadId };
  const Parts = [];
  for (const PartNumber of [1, 2]) {
    const { ETag } = await s3.send(new UploadPartCommand({ ...upload, PartNumber, Body: body }));
    Parts.push({ PartNumber, ETag, ChecksumCRC32: crc32ToBase64(crc32(body)) });
  }
  t.not(Parts[0]?.ETag, Parts[1]?.ETag);
  await s3.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }));
  t.match(stub.objects(), [
    { key: 'parts', size: 12_000_000, crc32: crc32(Buffer.concat([body, body])), bytes: null },
    { key: 'put', size: 6_000_000, crc32: crc32(body), bytes: null },
  ]);
  t.equal((await s3.send(new HeadObjectCommand(at('parts')))).ContentLength, 12_000_000);
  const broken = await rejectionOf(
    s3.send(new GetObjectCommand(at('put'))).then(({ Body }) => Body?.transformToString()),
  );
  t.ok(broken, 'there is nothing to read');
});

t.test('a folder holds the bytes of what is there, and no others', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 's3-stub-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const { stub, s3, at } = await setUp(t, { storage: { folder }, minPartBytes: 1 });
  const files = async (count: number) => {
    // files are removed after the answer
    for (let tries = 0; tries < 1000; tries++) {
      const { length } = await readdir(folder);
      if (length === count) return length;
    }
    return (await readdir(folder)).length;
  };
  await s3.send(new PutObjectCommand({ ...at('a'), Body: 'one' }));
  await s3.send(new PutObjectCommand({ ...at('a'), Body: 'two' }));
  await s3.send(new PutObjectCommand({ ...at('empty'), Body: Buffer.alloc(0) }));
  t.equal(await files(2), 2);
  const wrong = s3.send(new PutObjectCommand({ ...at('a'), Body: 'three', ChecksumCRC32: 'AAAAAA==' }));
  t.equal((await rejectionOf(wrong)).name, 'BadDigest');
  t.equal(await files(2), 2);

  stub.fault({ times: 1, action: { kind: 'error', status: 500, code: 'InternalError' } });
  const failed = s3.send(new PutObjectCommand({ ...at('a'), Body: 'three' }));
  t.equal((await rejectionOf(failed)).name, 'InternalError');
  t.equal(await files(2), 2, 'a body that came whole and is refused then');

  const begin = async (Key: string) => {
    const { UploadId } = await s3.send(
      new CreateMultipartUploadCommand({
        ...at(Key),
        ...checksums,
      }),
    );
    return { ...at(Key), UploadId };
  };
  const upload = await begin('parts');
  const Parts = [];
  for (const PartNumber of [1, 2, 3]) {
    const Body = Buffer.alloc(300_000, PartNumber);
    const { ETag } = await s3.send(new UploadPartCommand({ ...upload, PartNumber, Body }));
    Parts.push({ PartNumber, ETag, ChecksumCRC32: crc32ToBase64(crc32(Body)) });
  }
  t.equal(await files(5), 5);
  const chosen = { Parts: Parts.filter(({ PartNumber }) => PartNumber !== 2) };
  await s3.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: chosen }));
  t.equal(await files(4), 4, 'the part that was not chosen is gone');
  const got = await s3.send(new GetObjectCommand(at('parts')));
  const bytes = Buffer.from((await got.Body?.transformToByteArray()) ?? []);
  t.ok(bytes.equals(Buffer.concat([Buffer.alloc(300_000, 1), Buffer.alloc(300_000, 3)])));
  const middle = await s3.send(new GetObjectCommand({ ...at('parts'), Range: 'bytes=299999-300000' }));
  t.equal(await middle.Body?.transformToString('hex'), '0103');
  const empty = await s3.send(new GetObjectCommand(at('empty')));
  t.equal(await empty.Body?.transformToString(), '');

  const aborted = await begin('aborted');
  await s3.send(new UploadPartCommand({ ...aborted, PartNumber: 1, Body: 'x' }));
  await s3.send(new AbortMultipartUploadCommand(aborted));
  for (const key of ['a', 'empty', 'parts']) await s3.send(new DeleteObjectCommand(at(key)));
  t.equal(await files(0), 0);
  t.strictSame(stub.objects(), []);
});
