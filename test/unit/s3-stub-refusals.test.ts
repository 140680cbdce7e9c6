/**
 * What the stub refuses, so that a wrong request of the product fails a test. What it does is asked by the contract of
 * stores and s3-store-cases.ts, which real S3 servers pass as well; what else servers refuse is theirs to say.
 */
import { crc32 } from 'node:zlib';
import t, { type Test } from 'tap';
import { checksumText } from '#objects/s3/s3-checksums.ts';
import { type S3StubOptions, startS3Stub } from '../services/s3-stub/start-s3-stub.ts';
import {
  openSigned,
  type RawAnswer,
  readAnswer,
  type SignedRequestArgs,
  sendSigned,
} from '../services/signed-request.ts';

const crcOf = (text: string): string => checksumText(crc32(text));
const codeOf = ({ status, body }: RawAnswer) => [status, /<Code>(\w+)<\/Code>/.exec(body)?.[1]];

interface Sent {
  readonly number: number;
  readonly etag: string;
  readonly crc?: string;
}

async function setUp(t: Test, options: S3StubOptions = {}) {
  const stub = await startS3Stub(options);
  t.teardown(() => stub.close());
  const send = (method: string, path: string, more: Partial<SignedRequestArgs> = {}) =>
    sendSigned({ stub, method, url: `/${stub.bucket}${path}`, ...more });
  const refusal = async (...args: Parameters<typeof send>) => codeOf(await send(...args));
  const create = async (checksums = true) => {
    const headers = { 'x-amz-checksum-algorithm': 'CRC32', 'x-amz-checksum-type': 'FULL_OBJECT' };
    const { body } = await send('POST', '/key?uploads', checksums ? { headers } : {});
    return `uploadId=${/<UploadId>(.+)<\/UploadId>/.exec(body)?.[1]}`;
  };
  const part = async (id: string, number: number, body: string): Promise<Sent> => {
    const { headers } = await send('PUT', `/key?partNumber=${number}&${id}`, { body });
    return { number, etag: headers.etag ?? '', crc: crcOf(body) };
  };
  const complete = (id: string, parts: readonly Sent[], headers = {}) => {
    const list = parts.map(
      ({ number, etag, crc }) =>
        `<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag>${crc === undefined ? '' : `<ChecksumCRC32>${crc}</ChecksumCRC32>`}</Part>`,
    );
    const body = `<CompleteMultipartUpload>${list.join('')}</CompleteMultipartUpload>`;
    return refusal('POST', `/key?${id}`, { body, headers });
  };
  return { stub, send, refusal, create, part, complete };
}

t.test('a body is held against its checksum, and a request against its signature', async (t) => {
  const { stub, send, refusal } = await setUp(t);
  const text = '123456789';
  const checksum = (value: string) => ({ headers: { 'x-amz-checksum-crc32': value } });
  const refused: [string, Partial<SignedRequestArgs>, number, string][] = [
    ['crc32', checksum(crcOf('another body')), 400, 'BadDigest'],
    ['crc32, too short', checksum('AAAA'), 400, 'BadDigest'],
    [
      'a crc32 that was not signed',
      { unsigned: { 'x-amz-checksum-crc32': crcOf(text) } },
      403,
      'AccessDenied',
    ],
    ['no signature', { unsigned: { authorization: 'Bearer token' } }, 403, 'AccessDenied'],
    ['a signature of other headers', { unsigned: { host: 'elsewhere' } }, 403, 'SignatureDoesNotMatch'],
    ['another secret', { stub: { ...stub, secretAccessKey: 'x' } }, 403, 'SignatureDoesNotMatch'],
    ['another key', { stub: { ...stub, accessKeyId: 'OTHER' } }, 403, 'InvalidAccessKeyId'],
    ['another region', { stub: { ...stub, region: 'eu-west-1' } }, 400, 'AuthorizationHeaderMalformed'],
    ['a slow clock', { date: new Date(Date.now() - 16 * 60_000) }, 403, 'RequestTimeTooSkewed'],
    ['a fast clock', { date: new Date(Date.now() + 16 * 60_000) }, 403, 'RequestTimeTooSkewed'],
  ];
  for (const [name, args, status, code] of refused) {
    t.strictSame(await refusal('PUT', '/key', { body: text, ...args }), [status, code], name);
    t.strictSame(stub.objects(), [], 'nothing is kept');
  }
  // the check value of CRC-32, high byte first
  t.match(await send('PUT', '/key', { ...checksum('y/Q5Jg=='), body: text }), { status: 200 });
  await refusal('PUT', '/key', { ...checksum(crcOf(text)), body: 'another body' });
  t.equal(stub.objects()[0]?.bytes?.toString(), text, 'what was there stays');
});

t.test('what is not there, and what the stub does not know', async (t) => {
  const { stub, send, refusal } = await setUp(t);
  await send('PUT', '/digits', { body: '0123456789' });
  const refused: [string, string, Record<string, string>, number, string][] = [
    ['GET', '/none', {}, 404, 'NoSuchKey'],
    ['GET', '/digits', { range: 'bytes=10-' }, 416, 'InvalidRange'],
    ['GET', '/digits', { range: 'bytes=10-20' }, 416, 'InvalidRange'],
    ['PATCH', '/a', {}, 501, 'NotImplemented'],
    ['POST', '/a', {}, 501, 'NotImplemented'],
    ['GET', '?acl', {}, 501, 'NotImplemented'],
    ['GET', '/%zz', {}, 500, 'InternalError'],
  ];
  for (const [method, path, headers, status, code] of refused)
    t.strictSame(await refusal(method, path, { headers }), [status, code], `${method} ${path}`);
  const other = codeOf(await sendSigned({ stub, method: 'PUT', url: '/other/a', body: 'x' }));
  t.strictSame(other, [404, 'NoSuchBucket']);
  t.equal(stub.counts().unknown, 4);
  t.strictSame(
    stub.objects().map(({ key }) => key),
    ['digits'],
  );
});

t.test('the list of parts must be right', async (t) => {
  const { stub, create, part, complete } = await setUp(t, { minPartBytes: 6 });
  const id = await create();
  const [replaced, small, last] = [
    await part(id, 1, 'other '),
    await part(id, 3, 'small'),
    await part(id, 4, ''),
  ];
  const first = await part(id, 1, 'begin ');
  const { crc: _, ...without } = small;
  const wrong: [string, Parameters<typeof complete>[1], string, object?][] = [
    ['small parts before the last', [first, small, last], 'EntityTooSmall'],
    ['a part that was replaced', [replaced, small], 'InvalidPart'],
    ['a part that never came', [first, { ...small, number: 2 }], 'InvalidPart'],
    ['the ETag of another', [{ ...first, etag: small.etag }], 'InvalidPart'],
    ['a checksum left out, which MinIO refuses for every type', [first, without], 'InvalidPart'],
    ['CRC32 of the whole', [first, small], 'BadDigest', { 'x-amz-checksum-crc32': crcOf('smallbegin ') }],
  ];
  for (const [name, parts, code, headers] of wrong)
    t.strictSame(await complete(id, parts, headers), [400, code], name);
  t.strictSame(stub.objects(), []);
  t.equal(stub.openUploads().length, 1);
  await complete(id, [first, small], { 'x-amz-checksum-crc32': crcOf('begin small') });
  t.equal(stub.objects()[0]?.bytes?.toString(), 'begin small', 'and what was not chosen is gone');
});

t.test('parts and their upload agree about checksums, as AWS wants it', async (t) => {
  const { stub, refusal, create, part, complete } = await setUp(t);
  const id = await create(false);
  const withChecksum = { body: 'a', headers: { 'x-amz-checksum-crc32': crcOf('a') } };
  t.strictSame(await refusal('PUT', `/key?partNumber=1&${id}`, withChecksum), [400, 'InvalidRequest']);
  const { crc: _, ...plain } = await part(id, 1, 'a');
  await complete(id, [plain]);
  t.match(stub.objects(), [{ key: 'key', size: 1, crc32: crc32('a') }]);
});

t.test('an upload that is gone takes no parts, nor one that is on its way; and it has one key', async (t) => {
  const { stub, send, refusal, create, part, complete } = await setUp(t);
  const id = await create();
  const first = await part(id, 1, 'a');
  for (const [method, path] of [
    ['PUT', `/other?partNumber=1&${id}`],
    ['GET', `/other?${id}`],
    ['DELETE', `/other?${id}`],
  ] as const) {
    t.strictSame(await refusal(method, path), [404, 'NoSuchUpload'], `${method} ${path}`);
  }
  const url = `/${stub.bucket}/key?partNumber=2&${id}`;
  const req = openSigned({ stub, method: 'PUT', url, headers: { 'content-length': '10' } });
  const answer = readAnswer(req);
  const before = stub.counts().UploadPart;
  req.write('two h');
  while (stub.counts().UploadPart === before) await new Promise(setImmediate);
  await send('DELETE', `/key?${id}`);
  req.end('alves');
  t.strictSame(codeOf(await answer), [404, 'NoSuchUpload']);
  t.strictSame(await refusal('PUT', `/key?partNumber=3&${id}`, { body: 'b' }), [404, 'NoSuchUpload']);
  t.strictSame(await refusal('DELETE', `/key?${id}`), [404, 'NoSuchUpload']);
  t.strictSame(await complete(id, [first]), [404, 'NoSuchUpload']);
  t.strictSame([...stub.openUploads(), ...stub.objects()], []);
});
