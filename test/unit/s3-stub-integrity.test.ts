import { crc32 } from 'node:zlib';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import t, { type Test } from 'tap';
import { rejectionOf } from '../services/rejection-of.ts';
import { sdkClient } from '../services/s3-sdk-client.ts';
import { crc32ToBase64 } from '../services/s3-stub/crc32-combine.ts';
import { startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import { type RawAnswer, type SignedRequestArgs, sendSigned } from '../services/signed-request.ts';

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
  const refused: [string, Partial<SignedRequestArgs>, number, string][] = [
    ['crc32', { headers: { 'x-amz-checksum-crc32': otherCrc } }, 400, 'BadDigest'],
    ['crc32, malformed', { headers: { 'x-amz-checksum-crc32': 'AAAA' } }, 400, 'InvalidRequest'],
    ['sha256', { payloadHash: 'ab'.repeat(32) }, 400, 'XAmzContentSHA256Mismatch'],
    ['no hash at all', { payloadHash: 'none' }, 400, 'InvalidArgument'],
    ['a crc32 that was not signed', { unsigned: { 'x-amz-checksum-crc32': crc } }, 403, 'AccessDenied'],
  ];
  for (const [name, args, status, code] of refused) {
    t.strictSame(codeOf(await put(args)), [status, code], name);
    t.strictSame(stub.objects(), [], 'nothing is kept');
  }
  const headers = { 'x-amz-checksum-crc32': crc };
  t.match(await put({ headers }), { status: 200 });
  t.match(await put({ headers, payloadHash: 'UNSIGNED-PAYLOAD' }), { status: 200 });
  t.strictSame(codeOf(await put({ body: 'another body', headers })), [400, 'BadDigest']);
  t.equal(stub.objects()[0]?.bytes?.toString(), text, 'what was there stays');
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
