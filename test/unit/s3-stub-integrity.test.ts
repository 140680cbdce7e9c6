import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import t, { type Test } from 'tap';
import { rejectionOf } from '../services/rejection-of.ts';
import { sdkClient } from '../services/s3-sdk-client.ts';
import { crc32ToBase64 } from '../services/s3-stub/crc32-combine.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import {
  awsChunkedBody,
  presign,
  type RawAnswer,
  type SignedRequestArgs,
  sendHead,
  sendSigned,
  signHead,
} from '../services/signed-request.ts';

const text = 'the body of the object';
const crc = crc32ToBase64(crc32(text));
const otherCrc = crc32ToBase64(crc32('another body'));

async function setUp(t: Test) {
  const stub = await startS3Stub();
  t.teardown(() => stub.close());
  const put = (args: Partial<SignedRequestArgs> = {}) =>
    sendSigned({ stub, method: 'PUT', url: `/${stub.bucket}/key`, body: text, ...args });
  return { stub, put };
}

function codeOf({ status, body }: RawAnswer): [number, string | undefined] {
  return [status, /<Code>(\w+)<\/Code>/.exec(body)?.[1]];
}

t.test('a body is held against every digest that came with it', async (t) => {
  const { stub, put } = await setUp(t);
  const md5 = createHash('md5').update(text).digest('base64');
  const otherMd5 = createHash('md5').update('another body').digest('base64');
  const refused: [string, Partial<SignedRequestArgs>, number, string][] = [
    ['crc32', { headers: { 'x-amz-checksum-crc32': otherCrc } }, 400, 'BadDigest'],
    ['crc32, malformed', { headers: { 'x-amz-checksum-crc32': 'AAAA' } }, 400, 'InvalidRequest'],
    ['md5', { headers: { 'content-md5': otherMd5 } }, 400, 'BadDigest'],
    ['md5, malformed', { headers: { 'content-md5': 'AAAA' } }, 400, 'InvalidDigest'],
    ['sha256', { payloadHash: 'ab'.repeat(32) }, 400, 'XAmzContentSHA256Mismatch'],
    ['no hash at all', { payloadHash: 'none' }, 400, 'InvalidArgument'],
    ['a crc32 that was not signed', { unsigned: { 'x-amz-checksum-crc32': crc } }, 403, 'AccessDenied'],
  ];
  for (const [name, args, status, code] of refused) {
    t.strictSame(codeOf(await put(args)), [status, code], name);
    t.strictSame(stub.objects(), [], 'nothing is kept');
  }
  const headers = { 'x-amz-checksum-crc32': crc, 'content-md5': md5 };
  const kept = await put({ headers });
  t.match(kept, { status: 200, headers: { 'x-amz-checksum-crc32': crc } });
  await put({ headers, payloadHash: 'UNSIGNED-PAYLOAD' });
  t.strictSame(codeOf(await put({ body: 'another body', headers })), [400, 'BadDigest']);
  t.equal(stub.objects()[0]?.bytes?.toString(), text, 'what was there stays');
});

t.test('aws-chunked bodies with a trailing checksum, unsigned', async (t) => {
  const { stub, put } = await setUp(t);
  const chunked = (trailer: string[], more: Record<string, string> = {}, data = text) =>
    put({
      payloadHash: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
      headers: {
        'content-encoding': 'aws-chunked',
        'x-amz-decoded-content-length': `${text.length}`,
        'x-amz-trailer': 'x-amz-checksum-crc32',
        ...more,
      },
      body: awsChunkedBody([Buffer.from(data.slice(0, 5)), Buffer.from(data.slice(5))], trailer),
    });
  const right = `x-amz-checksum-crc32:${crc}`;
  t.strictSame(codeOf(await chunked([`x-amz-checksum-crc32:${otherCrc}`])), [400, 'BadDigest']);
  t.strictSame(codeOf(await chunked([])), [400, 'MalformedTrailerError']);
  t.strictSame(codeOf(await chunked(['x-amz-checksum-crc32:AAAA'])), [400, 'InvalidRequest']);
  const long = await chunked([right], { 'x-amz-decoded-content-length': `${text.length + 1}` });
  t.strictSame(codeOf(long), [400, 'IncompleteBody']);
  t.strictSame(codeOf(await chunked([right], { 'x-amz-trailer': 'x-amz-checksum-sha256' })), [
    501,
    'NotImplemented',
  ]);
  t.strictSame(codeOf(await chunked([right], { 'content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==' })), [
    400,
    'BadDigest',
  ]);
  t.strictSame(stub.objects(), []);
  t.match(await chunked([right]), { status: 200, headers: { 'x-amz-checksum-crc32': crc } });
  t.equal(stub.objects()[0]?.bytes?.toString(), text);
});

t.test('aws-chunked bodies, signed', async (t) => {
  const { stub } = await setUp(t);
  const send = (trailing: boolean, tamper: (body: Buffer) => Buffer) => {
    const args = {
      stub,
      method: 'PUT',
      url: `/${stub.bucket}/key`,
      payloadHash: `STREAMING-AWS4-HMAC-SHA256-PAYLOAD${trailing ? '-TRAILER' : ''}`,
      headers: {
        'content-encoding': 'aws-chunked,gzip',
        'x-amz-decoded-content-length': `${text.length}`,
        ...(trailing && { 'x-amz-trailer': 'x-amz-checksum-crc32' }),
      },
    };
    const head = signHead(args);
    const chunks = [Buffer.from(text.slice(0, 8)), Buffer.from(text.slice(8))];
    const trailer = trailing ? [`x-amz-checksum-crc32:${crc}`] : [];
    return sendHead('PUT', head, tamper(awsChunkedBody(chunks, trailer, head)));
  };
  const replace = (from: RegExp, to: string) => (body: Buffer) =>
    Buffer.from(body.toString('latin1').replace(from, to), 'latin1');
  for (const trailing of [false, true]) {
    t.strictSame(codeOf(await send(trailing, replace(/body/, 'bodx'))), [403, 'SignatureDoesNotMatch']);
    t.strictSame(codeOf(await send(trailing, replace(/;chunk-signature=\w+/, ''))), [
      403,
      'SignatureDoesNotMatch',
    ]);
    t.strictSame(stub.objects(), []);
  }
  const trailer = replace(/(trailer-signature:).{4}/, '$10000');
  t.strictSame(codeOf(await send(true, trailer)), [403, 'SignatureDoesNotMatch']);
  t.strictSame(codeOf(await send(true, replace(/x-amz-trailer-signature:\w+\r\n/, ''))), [
    403,
    'SignatureDoesNotMatch',
  ]);
  t.strictSame(stub.objects(), []);
  for (const trailing of [false, true]) {
    t.equal((await send(trailing, (body) => body)).status, 200);
    t.equal(stub.objects()[0]?.bytes?.toString(), text);
  }
  const got = await sendSigned({ stub, method: 'HEAD', url: `/${stub.bucket}/key` });
  t.equal(got.headers['content-encoding'], 'gzip');
});

t.test("the SDK's own checksum is checked too", async (t) => {
  const { stub } = await setUp(t);
  const s3 = sdkClient(stub);
  t.teardown(() => s3.destroy());
  const put = (ChecksumCRC32: string) =>
    s3.send(new PutObjectCommand({ Bucket: stub.bucket, Key: 'key', Body: text, ChecksumCRC32 }));
  t.match(await rejectionOf(put(otherCrc)), { name: 'BadDigest', $metadata: { httpStatusCode: 400 } });
  t.strictSame(stub.objects(), []);
  t.equal((await put(crc)).ChecksumCRC32, crc);

  // a stream whose bytes change on the way, after the SDK has counted them
  s3.middlewareStack.add(
    (next) => (args) => {
      const { body } = args.request as { body: Readable };
      const changed = Readable.from(
        (async function* () {
          for await (const chunk of body) {
            yield Buffer.from((chunk as Buffer).toString('latin1').replace('body', 'bodx'), 'latin1');
          }
        })(),
      );
      return next({ ...args, request: Object.assign(args.request as object, { body: changed }) });
    },
    { step: 'deserialize', priority: 'low' },
  );
  const stream = new PutObjectCommand({
    Bucket: stub.bucket,
    Key: 'stream',
    Body: Readable.from([Buffer.from(text)]),
    ContentLength: text.length,
  });
  t.equal((await rejectionOf(s3.send(stream))).name, 'BadDigest');
  t.strictSame(
    stub.objects().map(({ key }) => key),
    ['key'],
  );
});

t.test('the SDK with other keys, another region, or a slow clock', async (t) => {
  const { stub, put } = await setUp(t);
  const codeWith = async (config: Parameters<typeof sdkClient>[1]) => {
    const s3 = sdkClient(stub, config);
    const error = await rejectionOf(
      s3.send(new PutObjectCommand({ Bucket: stub.bucket, Key: 'key', Body: text })),
    );
    s3.destroy();
    return error.name;
  };
  const { accessKeyId } = stub;
  t.equal(await codeWith({ credentials: { accessKeyId, secretAccessKey: 'x' } }), 'SignatureDoesNotMatch');
  t.equal(
    await codeWith({ credentials: { accessKeyId: 'OTHER', secretAccessKey: stub.secretAccessKey } }),
    'InvalidAccessKeyId',
  );
  t.equal(await codeWith({ region: 'eu-central-1' }), 'AuthorizationHeaderMalformed');
  t.equal(await codeWith({ systemClockOffset: -16 * 60_000 }), 'RequestTimeTooSkewed');
  const date = new Date(Date.now() + 16 * 60_000);
  t.strictSame(codeOf(await put({ date })), [403, 'RequestTimeTooSkewed']);
  t.strictSame(stub.objects(), []);
});

t.test('presigned URLs work for a while, for one request', async (t) => {
  const { stub } = await setUp(t);
  const url = `/${stub.bucket}/a%20key`;
  const put = presign({ stub, method: 'PUT', url, expires: 60, headers: { 'x-amz-meta-a': '1' } });
  const body = Buffer.from(text);
  const sent = await fetch(put, { method: 'PUT', body, headers: { 'x-amz-meta-a': '1' } });
  t.equal(sent.status, 200);
  t.equal((await fetch(put, { method: 'PUT', body })).status, 403, 'without the signed header');
  const get = presign({
    stub,
    method: 'GET',
    url: `${url}?response-content-disposition=attachment&response-content-type=text%2Fcsv`,
    expires: 60,
  });
  const got = await fetch(get);
  t.equal(await got.text(), text);
  t.equal(got.headers.get('content-disposition'), 'attachment');
  t.equal(got.headers.get('content-type'), 'text/csv');
  const plain = presign({ stub, method: 'GET', url, expires: 60 });
  t.equal((await fetch(plain, { method: 'DELETE' })).status, 403);
  t.equal((await fetch(String(plain).replace('a%20key', 'b'))).status, 403);
  const old = presign({ stub, method: 'GET', url, expires: 60, date: new Date(Date.now() - 61_000) });
  t.match(await (await fetch(old)).text(), /<Code>AccessDenied<.*Request has expired/);
  t.equal(stub.objects().length, 1);
});

t.test('a body must say how long it is', async (t) => {
  const { stub, put } = await setUp(t);
  const length = { 'x-amz-decoded-content-length': `${text.length}` };
  const streaming = { payloadHash: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER' };
  const trailer = { 'x-amz-trailer': 'x-amz-checksum-crc32' };
  t.strictSame(codeOf(await put({ ...streaming, headers: trailer })), [411, 'MissingContentLength']);
  t.strictSame(codeOf(await put({ ...streaming, headers: length })), [400, 'InvalidRequest']);
  const chunked = { 'transfer-encoding': 'chunked' };
  const unknown = sendHead('PUT', signedHead(), text);
  t.strictSame(codeOf(await unknown), [501, 'NotImplemented']);
  const huge = { ...length, ...trailer, 'x-amz-decoded-content-length': `${5 * 1024 ** 3 + 1}` };
  t.strictSame(codeOf(await put({ ...streaming, headers: huge })), [400, 'EntityTooLarge']);
  t.strictSame(stub.objects(), []);

  function signedHead() {
    const head = signHead({
      stub,
      method: 'PUT',
      url: `/${stub.bucket}/key`,
      payloadHash: 'UNSIGNED-PAYLOAD',
    });
    return { ...head, headers: { ...head.headers, ...chunked } };
  }
});
