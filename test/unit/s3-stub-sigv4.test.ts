import { createHash } from 'node:crypto';
import t from 'tap';
import { canonicalRequest, type SignableRequest, uriEncode } from '../services/s3-stub/canonical-request.ts';
import { S3Error } from '../services/s3-stub/s3-error.ts';
import { verifySignature } from '../services/s3-stub/verify-signature.ts';
import { thrownBy } from '../services/thrown-by.ts';

// The worked examples of the S3 API reference: sig-v4-header-based-auth.html.
const credentials = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
};
const amzDate = '20130524T000000Z';
const then = Date.parse('2013-05-24T00:00:00Z');
const emptyHash = createHash('sha256').digest('hex');

function example(args: {
  method: string;
  url: string;
  headers?: Record<string, string>;
  payloadHash?: string;
  signature: string;
}): { request: SignableRequest; names: string[]; payloadHash: string } {
  const payloadHash = args.payloadHash ?? emptyHash;
  const signed: Record<string, string> = {
    host: 'examplebucket.s3.amazonaws.com',
    'x-amz-content-sha256': payloadHash,
    'x-amz-date': amzDate,
    ...args.headers,
  };
  const names = Object.keys(signed).sort();
  const all: Record<string, string> = {
    ...signed,
    authorization: `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=${names.join(';')},Signature=${args.signature}`,
  };
  const request: SignableRequest = {
    method: args.method,
    url: args.url,
    headerValues: (name) => (all[name] === undefined ? undefined : [all[name]]),
  };
  return { request, names: Object.keys(all), payloadHash };
}

const examples = {
  'GET Object': example({
    method: 'GET',
    url: '/test.txt',
    headers: { range: 'bytes=0-9' },
    signature: 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  }),
  'PUT Object': example({
    method: 'PUT',
    url: '/test$file.text',
    headers: { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
    payloadHash: createHash('sha256').update('Welcome to Amazon S3.').digest('hex'),
    signature: '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  }),
  'GET Bucket Lifecycle': example({
    method: 'GET',
    url: '/?lifecycle',
    signature: 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  }),
  'Get Bucket (List Objects)': example({
    method: 'GET',
    url: '/?prefix=J&max-keys=2',
    signature: '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  }),
};

function codeOf(work: () => unknown): string | undefined {
  const error = thrownBy(work);
  return error instanceof S3Error ? error.code : undefined;
}

t.test("AWS's published requests are accepted with the signatures they were published with", async (t) => {
  for (const [name, { request, names }] of Object.entries(examples)) {
    t.ok(verifySignature(request, names, credentials, then), name);
  }
});

t.test('a signature holds for its request only', async (t) => {
  const { request, names } = examples['GET Object'];
  const verify = (changes: Partial<SignableRequest>) => () =>
    verifySignature({ ...request, ...changes }, names, credentials, then);
  const withHeader = (name: string, value: string) => ({
    headerValues: (asked: string) => (asked === name ? [value] : request.headerValues(asked)),
  });
  t.equal(codeOf(verify({ method: 'HEAD' })), 'SignatureDoesNotMatch');
  t.equal(codeOf(verify({ url: '/test.tx' })), 'SignatureDoesNotMatch');
  t.equal(codeOf(verify({ url: '/test.txt?versionId=1' })), 'SignatureDoesNotMatch');
  t.equal(codeOf(verify(withHeader('range', 'bytes=0-10'))), 'SignatureDoesNotMatch');
  t.equal(codeOf(verify(withHeader('x-amz-content-sha256', 'UNSIGNED-PAYLOAD'))), 'SignatureDoesNotMatch');
  t.equal(
    codeOf(() => verifySignature(request, [...names, 'x-amz-meta-added'], credentials, then)),
    'AccessDenied',
  );
  t.equal(
    codeOf(() => verifySignature(request, names, { ...credentials, secretAccessKey: 'other' }, then)),
    'SignatureDoesNotMatch',
  );
  t.equal(
    codeOf(() => verifySignature(request, names, { ...credentials, accessKeyId: 'OTHER' }, then)),
    'InvalidAccessKeyId',
  );
  t.equal(
    codeOf(() => verifySignature(request, names, { ...credentials, region: 'eu-central-1' }, then)),
    'AuthorizationHeaderMalformed',
  );
});

t.test('the clocks may differ by 15 minutes', async (t) => {
  const { request, names } = examples['GET Object'];
  const at = (ms: number) => () => verifySignature(request, names, credentials, then + ms);
  t.ok(at(15 * 60_000)());
  t.ok(at(-15 * 60_000)());
  t.equal(codeOf(at(15 * 60_000 + 1)), 'RequestTimeTooSkewed');
  t.equal(codeOf(at(-15 * 60_000 - 1)), 'RequestTimeTooSkewed');
});

t.test('requests without a whole signature are refused by what is missing', async (t) => {
  const { request, names } = examples['GET Object'];
  const verify = (headers: Record<string, string | undefined>) =>
    codeOf(() =>
      verifySignature(
        {
          ...{ method: 'GET', url: request.url },
          headerValues: (name) => {
            if (!(name in headers)) return request.headerValues(name);
            return headers[name] === undefined ? undefined : [headers[name]];
          },
        },
        names,
        credentials,
        then,
      ),
    );
  t.equal(verify({ authorization: undefined }), 'AccessDenied');
  t.equal(verify({ authorization: 'Bearer token' }), 'AuthorizationHeaderMalformed');
  t.equal(
    verify({
      authorization: `AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=${'0'.repeat(64)}`,
    }),
    'AuthorizationHeaderMalformed',
  );
  t.equal(verify({ 'x-amz-date': undefined }), 'AccessDenied');
  t.equal(verify({ 'x-amz-date': 'yesterday' }), 'AccessDenied');
  t.equal(verify({ 'x-amz-content-sha256': undefined }), 'InvalidRequest');
});

t.test('the canonical form follows the rules of S3', async (t) => {
  const request: SignableRequest = {
    method: 'GET',
    url: "/a//b/../%7Ec%20d+e/%C3%BC?b=2&a=%2F&a=&c'",
    headerValues: (name) => (name === 'x-many' ? ['  one   two ', 'three'] : ['h']),
  };
  t.equal(
    canonicalRequest(request, ['host', 'x-many'], 'hash'),
    'GET\n/a//b/../~c%20d%2Be/%C3%BC\na=&a=%2F&b=2&c%27=\nhost:h\nx-many:one two,three\n\nhost;x-many\nhash',
  );
  t.equal(uriEncode("A-z0.9_~ !'()*/ü", true), 'A-z0.9_~%20%21%27%28%29%2A%2F%C3%BC');
  t.equal(uriEncode('a/b', false), 'a/b');
});
