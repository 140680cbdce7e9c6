import { SignatureV4 } from '@smithy/signature-v4';
import fc from 'fast-check';
import t from 'tap';
import { escapeUri } from '#objects/s3/s3-address.ts';
import { createS3Signer, type S3Credentials } from '#objects/s3/s3-signer.ts';
import { Sha256 } from '../services/s3-stub/verify-signature.ts';
import { sized } from '../services/test-size.ts';

/** The signer that the SDK uses. */
async function oracle(
  credentials: S3Credentials,
  request: { path: string; query: Record<string, string>; headers: Record<string, string> },
  now: Date,
  region: string,
): Promise<Record<string, string>> {
  const { sessionToken, ...keys } = credentials;
  const signer = new SignatureV4({
    service: 's3',
    region,
    credentials: { ...keys, ...(sessionToken === undefined ? {} : { sessionToken }) },
    sha256: Sha256,
    uriEscapePath: false,
    applyChecksum: false,
  });
  const { headers } = await signer.sign(
    { method: 'PUT', protocol: 'http:', hostname: 's3.test', ...request },
    { signingDate: now },
  );
  return headers;
}

const visible = fc.string({ unit: fc.constantFrom(...'abz019 ~-_./+=,;:%&()'), maxLength: 30 });
const requests = fc.record({
  key: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
  query: fc.dictionary(
    fc.constantFrom('partNumber', 'uploadId', 'a', 'a-b', 'A'),
    fc.string({ maxLength: 20 }),
  ),
  metadata: fc.dictionary(fc.stringMatching(/^[a-z][a-z0-9-]{0,10}$/), visible),
  sessionToken: fc.option(fc.string({ unit: fc.constantFrom(...'abc/+='), minLength: 1 }), {
    nil: undefined,
  }),
  secretAccessKey: fc.string({ unit: fc.constantFrom(...'abcXYZ/+'), minLength: 1, maxLength: 40 }),
  day: fc.integer({ min: 0, max: 40_000 }),
});

t.test('signatures are those of an independent implementation', async (t) => {
  const sign = createS3Signer('eu-central-1');
  let checked = 0;
  await fc.assert(
    fc.asyncProperty(requests, async ({ key, query, metadata, sessionToken, secretAccessKey, day }) => {
      const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey, sessionToken };
      const headers: Record<string, string> = { host: 's3.test', 'content-length': '5' };
      for (const [name, value] of Object.entries(metadata)) headers[`x-amz-meta-${name}`] = value;
      const path = `/bucket/${key.split('/').map(escapeUri).join('/')}`;
      const now = new Date(day * 86_400_000 + 12_345_678);
      const queryText = Object.keys(query)
        .sort()
        .map((name) => `${escapeUri(name)}=${escapeUri(query[name] as string)}`)
        .join('&');
      const ours = sign({ method: 'PUT', path, query: queryText, headers }, credentials, now);
      const theirs = await oracle(
        credentials,
        { path, query, headers: { ...headers, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' } },
        now,
        'eu-central-1',
      );
      checked++;
      if (ours.authorization !== theirs.authorization) {
        throw new Error(`${ours.authorization}\n${theirs.authorization}`);
      }
    }),
    { numRuns: sized(500) },
  );
  t.equal(checked, sized(500));
});

t.test('another secret or another day takes another key', async (t) => {
  const sign = createS3Signer('us-east-1');
  const request = { method: 'PUT', path: '/b/k', query: '', headers: { host: 's3.test' } };
  const signature = (secretAccessKey: string, now: number) =>
    sign(request, { accessKeyId: 'A', secretAccessKey }, new Date(now)).authorization;
  const first = signature('one', 0);
  t.not(signature('two', 0), first);
  t.equal(signature('one', 0), first);
  t.not(signature('one', 86_400_000), first);
  t.equal(signature('one', 0), first);
});
