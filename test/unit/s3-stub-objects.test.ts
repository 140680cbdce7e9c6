import { crc32 } from 'node:zlib';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import t, { type Test } from 'tap';
import { rejectionOf } from '../services/rejection-of.ts';
import { sdkClient } from '../services/s3-sdk-client.ts';
import { type S3StubOptions, startS3Stub } from '../services/s3-stub/start-s3-stub.ts';

async function setUp(t: Test, options: S3StubOptions = {}) {
  const stub = await startS3Stub(options);
  const s3 = sdkClient(stub);
  t.teardown(() => {
    s3.destroy();
    return stub.close();
  });
  const at = (Key: string) => ({ Bucket: stub.bucket, Key });
  return { stub, s3, at };
}

t.test('what is put is got, with its description', async (t) => {
  const { stub, s3, at } = await setUp(t);
  const put = await s3.send(
    new PutObjectCommand({
      ...at('owner/project/name.txt'),
      Body: 'hello',
      ContentType: 'text/plain',
      ContentDisposition: 'attachment; filename="a b.txt"',
      CacheControl: 'max-age=60',
      ContentEncoding: 'identity',
      Metadata: { one: '1', two: 'b  c' },
    }),
  );
  t.match(put.ETag, /^"\w+"$/);

  const got = await s3.send(new GetObjectCommand(at('owner/project/name.txt')));
  t.equal(await got.Body?.transformToString(), 'hello');
  const head = await s3.send(
    new HeadObjectCommand({ ...at('owner/project/name.txt'), ChecksumMode: 'ENABLED' }),
  );
  for (const answer of [got, head]) {
    t.equal(answer.ContentLength, 5);
    t.equal(answer.ContentType, 'text/plain');
    t.equal(answer.ContentDisposition, 'attachment; filename="a b.txt"');
    t.equal(answer.CacheControl, 'max-age=60');
    t.equal(answer.ContentEncoding, 'identity');
    t.strictSame(answer.Metadata, { one: '1', two: 'b  c' });
    t.equal(answer.ETag, put.ETag);
    t.equal(answer.ChecksumCRC32, 'NhCmhg==');
    t.ok(Math.abs((answer.LastModified?.getTime() ?? 0) - Date.now()) < 3_600_000);
  }
  const [object] = stub.objects();
  t.match(object, {
    key: 'owner/project/name.txt',
    size: 5,
    crc32: crc32('hello'),
    contentType: 'text/plain',
    metadata: { one: '1', two: 'b  c' },
  });
  t.equal(object?.bytes?.toString(), 'hello');
  t.match(stub.requests[0], {
    operation: 'PutObject',
    key: 'owner/project/name.txt',
    status: 200,
    code: null,
  });
  t.strictSame(stub.counts(), { PutObject: 1, GetObject: 1, HeadObject: 1 });
  t.equal(stub.openConnections(), 1, 'the connection is kept');
});

t.test('keys that the product never makes', async (t) => {
  const { stub, s3, at } = await setUp(t);
  const keys = ['a//b/../c/.', 'k'.repeat(1024)];
  for (const key of keys) await s3.send(new PutObjectCommand({ ...at(key), Body: '' }));
  t.strictSame(
    stub.objects().map(({ key, size }) => [key, size]),
    keys.map((key) => [key, 0]),
  );
  for (const key of keys) await s3.send(new DeleteObjectCommand(at(key)));
  t.strictSame(stub.objects(), []);
  const tooLong = s3.send(new PutObjectCommand({ ...at('k'.repeat(1025)), Body: 'x' }));
  t.equal((await rejectionOf(tooLong)).name, 'KeyTooLongError');
});

t.test('ranges', async (t) => {
  const { s3, at } = await setUp(t);
  await s3.send(new PutObjectCommand({ ...at('digits'), Body: '0123456789' }));
  const range = async (Range: string) => {
    const got = await s3.send(new GetObjectCommand({ ...at('digits'), Range }));
    return [got.$metadata.httpStatusCode, await got.Body?.transformToString(), got.ContentRange];
  };
  t.strictSame(await range('bytes=0-0'), [206, '0', 'bytes 0-0/10']);
  t.strictSame(await range('bytes=2-5'), [206, '2345', 'bytes 2-5/10']);
  t.strictSame(await range('bytes=7-'), [206, '789', 'bytes 7-9/10']);
  t.strictSame(await range('bytes=8-100'), [206, '89', 'bytes 8-9/10']);
  t.strictSame(await range('bytes=-3'), [206, '789', 'bytes 7-9/10']);
  t.strictSame(await range('bytes=-100'), [206, '0123456789', 'bytes 0-9/10']);
  t.strictSame(await range('bytes=5-2'), [200, '0123456789', undefined]);
  t.strictSame(await range('lines=1-2'), [200, '0123456789', undefined]);
  for (const outside of ['bytes=10-', 'bytes=10-20', 'bytes=-0']) {
    const error = await rejectionOf(range(outside));
    t.equal(error.name, 'InvalidRange', outside);
  }
});

t.test('missing things are missing by their names', async (t) => {
  const { stub, s3, at } = await setUp(t);
  const get = await rejectionOf(s3.send(new GetObjectCommand(at('none'))));
  t.match(get, { name: 'NoSuchKey', $metadata: { httpStatusCode: 404 }, Key: 'none' });
  t.match((get.$metadata as { requestId?: string }).requestId, /^STUB\d{12}$/);
  const head = await rejectionOf(s3.send(new HeadObjectCommand(at('none'))));
  t.match(head, { name: 'NotFound', $metadata: { httpStatusCode: 404 } });
  const bucket = await rejectionOf(s3.send(new PutObjectCommand({ Bucket: 'other', Key: 'a', Body: 'a' })));
  t.match(bucket, { name: 'NoSuchBucket', $metadata: { httpStatusCode: 404 } });
  await s3.send(new DeleteObjectCommand(at('none')));
  t.ok(await s3.send(new HeadBucketCommand({ Bucket: stub.bucket })));
  t.match(await rejectionOf(s3.send(new HeadBucketCommand({ Bucket: 'other' }))), { name: 'NotFound' });
  t.match(stub.requests.at(-1), { operation: 'HeadBucket', status: 404, code: 'NoSuchBucket' });
});

t.test('a list says what it has', async (t) => {
  const { stub, s3, at } = await setUp(t, { pageSize: 2 });
  for (const key of ['A', 'a/1', 'a/2']) await s3.send(new PutObjectCommand({ ...at(key), Body: key }));
  const first = await s3.send(new ListObjectsV2Command({ Bucket: stub.bucket }));
  t.match(first, { Name: stub.bucket, KeyCount: 2, MaxKeys: 2, IsTruncated: true, Prefix: '' });
  t.match(first.Contents?.[0], { Key: 'A', Size: 1, ETag: /^"\w+"$/, StorageClass: 'STANDARD' });
  t.type(first.Contents?.[0]?.LastModified, Date);
  const none = await s3.send(new ListObjectsV2Command({ Bucket: stub.bucket, Prefix: 'zzz' }));
  t.match(none, { KeyCount: 0, IsTruncated: false });
  const wrong = s3.send(new ListObjectsV2Command({ Bucket: stub.bucket, ContinuationToken: 'wrong' }));
  t.equal((await rejectionOf(wrong)).name, 'InvalidArgument');
});

t.test('what the stub does not know is refused', async (t) => {
  const { stub, s3, at } = await setUp(t);
  const refused = [
    new PutObjectCommand({ ...at('a'), Body: 'x', StorageClass: 'GLACIER' }),
    new PutObjectCommand({ ...at('a'), Body: 'x', ChecksumAlgorithm: 'SHA256' }),
    new PutObjectCommand({ ...at('a'), Body: 'x', Tagging: 'a=b' }),
    new PutObjectCommand({ ...at('a'), Body: 'x', IfNoneMatch: '*' }),
  ];
  for (const command of refused) {
    t.equal((await rejectionOf(s3.send(command))).name, 'NotImplemented', JSON.stringify(command.input));
  }
  const get = s3.send(new GetObjectCommand({ ...at('a'), VersionId: '1' }));
  t.equal((await rejectionOf(get)).name, 'NotImplemented');
  const list = s3.send(new ListObjectsV2Command({ Bucket: stub.bucket, Delimiter: '/' }));
  t.equal((await rejectionOf(list)).name, 'NotImplemented');
  t.strictSame(stub.objects(), []);
});
