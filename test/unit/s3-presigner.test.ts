import { SignatureV4 } from '@smithy/signature-v4';
import fc from 'fast-check';
import t from 'tap';
import { unobserved } from '#kernel/telemetry/observe-call.ts';
import { s3Address } from '#objects/s3/s3-address.ts';
import { connectS3 } from '#objects/s3/s3-client.ts';
import { createS3Presigner, type PresignRequest } from '#objects/s3/s3-presigner.ts';
import type { S3Credentials } from '#objects/s3/s3-signer.ts';
import { Sha256 } from '../services/s3-stub/verify-signature.ts';
import { silentLog } from '../services/silent-log.ts';
import { sized } from '../services/test-size.ts';

const never = new AbortController().signal;

interface Setting {
  readonly place: Parameters<typeof s3Address>[1];
  readonly credentials: S3Credentials & { readonly expiration?: Date };
  readonly now: Date;
}

/** A presigner whose clock stands still. */
function presignerAt({ place, credentials, now }: Setting) {
  const { client, agent } = connectS3({
    ...place,
    credentials: undefined,
    maxSockets: 1,
    timing: { connect: 1000 },
    log: silentLog(),
    observe: unobserved,
  });
  const address = s3Address(client.config, place);
  client.destroy();
  agent.destroy();
  const config = Object.defineProperties(
    {},
    {
      credentials: { value: async () => credentials },
      // half a second more, because signatures have whole ones
      systemClockOffset: { get: () => now.getTime() + 500 - Date.now() },
    },
  ) as Parameters<typeof createS3Presigner>[0]['client']['config'];
  return { address, presign: createS3Presigner({ client: { config }, address, timing: { request: 1000 } }) };
}

t.test('the example of the documentation', async (t) => {
  // https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
  const { presign } = presignerAt({
    place: {
      bucket: 'examplebucket',
      endpoint: 'https://s3.amazonaws.com',
      region: 'us-east-1',
      forcePathStyle: false,
    },
    credentials: {
      accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    },
    now: new Date('2013-05-24T00:00:00Z'),
  });
  const signed = await presign(
    { method: 'GET', key: 'test.txt', query: {}, headers: {}, lifetime: 86_400 },
    never,
  );
  t.strictSame(signed, {
    url: 'https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
    headers: {},
  });
});

const visible = fc.string({ unit: fc.constantFrom(...'abz019 ~-_./+=,;:%&()'), maxLength: 30 });
const requests = fc.record({
  method: fc.constantFrom('GET', 'PUT', 'POST') as fc.Arbitrary<PresignRequest['method']>,
  key: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).filter((key) => !/^\.{1,2}$/.test(key)),
  query: fc.dictionary(
    fc.constantFrom('partNumber', 'uploadId', 'response-content-disposition', 'a-b', 'A', 'x'),
    fc.string({ maxLength: 20 }),
  ),
  headers: fc.dictionary(
    fc.constantFrom('content-length', 'content-md5', 'if-none-match', 'content-type', 'x-amz-meta-name'),
    visible,
  ),
  sessionToken: fc.option(fc.string({ unit: fc.constantFrom(...'abc/+='), minLength: 1 }), {
    nil: undefined,
  }),
  secretAccessKey: fc.string({ unit: fc.constantFrom(...'abcXYZ/+'), minLength: 1, maxLength: 40 }),
  day: fc.integer({ min: 0, max: 40_000 }),
  lifetime: fc.integer({ min: 1, max: 604_800 }),
});

t.test('addresses are those of an independent implementation', async (t) => {
  const place = {
    bucket: 'My_bucket',
    endpoint: 'http://s3.test:9000',
    region: 'eu-central-1',
    forcePathStyle: true,
  };
  let checked = 0;
  await fc.assert(
    fc.asyncProperty(requests, async ({ sessionToken, secretAccessKey, day, ...request }) => {
      const { key, lifetime, method, query, headers } = request;
      const now = new Date(day * 86_400_000 + 12_345_000);
      const credentials = {
        accessKeyId: 'AKID+/EXAMPLE',
        secretAccessKey,
        ...(sessionToken !== undefined && { sessionToken }),
      };
      const { address, presign } = presignerAt({ place, credentials, now });
      const ours = await presign(request, never);
      const sent = { ...headers, host: 's3.test:9000' };
      const theirs = await new SignatureV4({
        service: 's3',
        region: place.region,
        credentials,
        sha256: Sha256,
        uriEscapePath: false,
        applyChecksum: false,
      }).presign(
        {
          method,
          protocol: 'http:',
          hostname: 's3.test',
          path: address.path(key),
          query,
          headers: sent,
          // a body that it can't hash is signed as UNSIGNED-PAYLOAD
          body: {},
        },
        {
          signingDate: now,
          expiresIn: lifetime,
          unhoistableHeaders: new Set(Object.keys(sent)),
          signableHeaders: new Set(Object.keys(sent)),
        },
      );
      const url = new URL(ours.url);
      if (url.origin !== 'http://s3.test:9000') throw new Error(url.origin);
      const given = Object.fromEntries(url.searchParams);
      const expected = Object.entries(theirs.query ?? {});
      if (expected.length !== url.searchParams.size) throw new Error(url.search);
      for (const [name, value] of expected)
        if (given[name] !== value) throw new Error(`${name}: ${given[name]} instead of ${value}`);
      checked++;
    }),
    { numRuns: sized(500) },
  );
  t.equal(checked, sized(500));
});

t.test('temporary credentials are asked for again, others are not', async (t) => {
  let expiration: Date | undefined = new Date(Date.now() + 3_600_000);
  let fetched = 0;
  const config = {
    systemClockOffset: 0,
    credentials: async () => {
      fetched++;
      return { accessKeyId: `id${fetched}`, secretAccessKey: 's', ...(expiration && { expiration }) };
    },
  } as unknown as Parameters<typeof createS3Presigner>[0]['client']['config'];
  const { address } = presignerAt({
    place: { bucket: 'b-b', endpoint: 'http://s3.test', region: 'us-east-1', forcePathStyle: true },
    credentials: { accessKeyId: '', secretAccessKey: '' },
    now: new Date(),
  });
  const presign = createS3Presigner({ client: { config }, address, timing: { request: 1000 } });
  const idOf = async () => {
    const request = { method: 'GET', key: 'k', query: {}, headers: {}, lifetime: 60 } as const;
    return new URL((await presign(request, never)).url).searchParams.get('X-Amz-Credential')?.split('/')[0];
  };
  t.equal(await idOf(), 'id1');
  t.equal(await idOf(), 'id2');
  expiration = undefined;
  t.equal(await idOf(), 'id3');
  t.equal(await idOf(), 'id3');
});

t.test('a lifetime that servers refuse is not signed', async (t) => {
  const { presign } = presignerAt({
    place: { bucket: 'b-b', endpoint: 'http://s3.test', region: 'us-east-1', forcePathStyle: true },
    credentials: { accessKeyId: 'a', secretAccessKey: 's' },
    now: new Date(),
  });
  for (const lifetime of [0, 1.5, -1, 604_801, Number.NaN]) {
    await t.rejects(
      presign({ method: 'GET', key: 'k', query: {}, headers: {}, lifetime }, never),
      RangeError,
    );
  }
});
