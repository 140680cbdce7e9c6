/** Headers and bodies that no client sends, at every address of uploads that can go on: clear refusals, and bytes stay right. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { createConfiguredKeys } from '#auth/signing-keys.ts';
import { OwnLinkUses } from '#gateway/links/link-uses.ts';
import { UploadLinks } from '#gateway/links/upload-links.ts';
import { StateStore } from '#gateway/resumable/state-store.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import { serveGatewayOn, testOwner } from '../services/gateway-on-s3.ts';
import { testDeployment } from '../services/new-file.ts';
import { sized } from '../services/test-size.ts';
import { tusStores } from '../services/tus-gateway.ts';
import { collect, patternBytes } from './object-store-contract.ts';

const never = new AbortController().signal;
const length = 5000;
const bytes = patternBytes(length);

const count = fc.oneof(
  fc.integer({ min: -2, max: length + 2 }).map(String),
  fc.constantFrom('', '0x1', '1e3', '00', '9'.repeat(17), '9007199254740993', '1,2', ' 1', 'NaN'),
);
const text = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  maxLength: 60,
});
/** RIGHT stands for the checksum of what is sent. */
const checksum = fc.oneof(
  text,
  fc.constantFrom('sha1 RIGHT', 'sha256 RIGHT', 'crc32 RIGHT'),
  fc
    .tuple(
      fc.constantFrom('sha1', 'sha256', 'crc32', 'md5', 'toString'),
      fc.constantFrom('', 'AAAA', 'AAAAAA==', '===='),
    )
    .map((pair) => pair.join(' ')),
);
const sometimes = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const headers = fc.record({
  'tus-resumable': fc.constantFrom('1.0.0', '1.0.0', '1.0.0', '0.2.2', '', undefined, undefined),
  'upload-complete': sometimes(fc.constantFrom('?0', '?1', '?1', '1', '')),
  'upload-draft-interop-version': sometimes(fc.constantFrom('5', '6', 'x')),
  'content-disposition': sometimes(
    fc.oneof(text, fc.constantFrom('attachment; filename=a', 'x; filename*=y')),
  ),
  'upload-length': sometimes(count),
  'upload-offset': sometimes(count),
  'upload-defer-length': sometimes(fc.constantFrom('1', '0', 'x')),
  'upload-metadata': sometimes(
    fc.oneof(
      text,
      text.map((one) => `filename ${Buffer.from(one).toString('base64')}`),
    ),
  ),
  'upload-checksum': sometimes(checksum),
  'content-digest': fc.option(
    fc.oneof(
      text,
      fc.constantFrom(
        ...['sha-256=:RIGHT:', 'sha-512=:RIGHT:', 'sha-256=:AAAA:', 'x=:AAAA:', 'sha-512=::, sha-256=1'],
        ',,',
      ),
    ),
    { nil: undefined, freq: 5 },
  ),
  'repr-digest': fc.option(fc.constantFrom('sha-256=:ALL:', 'x=:AAAA:', 'sha-512=::', 'a'), {
    nil: undefined,
    freq: 5,
  }),
  'x-http-method-override': sometimes(fc.constantFrom('PATCH', 'HEAD', 'DELETE', 'PUT', '')),
  'upload-concat': sometimes(
    fc.oneof(
      text,
      fc.constantFrom(
        ...['partial', 'final', 'final;', 'final;/_f_/demo/resumable/x /', 'final;OWN', 'final;OWN OWN'],
      ),
    ),
  ),
  'content-type': fc.constantFrom(
    'application/offset+octet-stream',
    'application/offset+octet-stream',
    'text/plain',
    'application/partial-upload',
    undefined,
  ),
});
const request = fc.record({
  method: fc.constantFrom('POST', 'PATCH', 'PATCH', 'HEAD', 'GET', 'DELETE', 'PUT'),
  place: fc.constantFrom(
    ...['', '?link=x.y', '?link=GOOD', '?link=LATE', '?link=USED'],
    ...['/own', '/own', '/other', '/expired', '/x', '/%00', '/..%2f', '/x?upload=x.y'],
  ),
  headers,
  size: sometimes(fc.integer({ min: 0, max: length + 1 })),
  twice: fc.boolean(),
});

const hash = (algorithm: string, of: Uint8Array): string => {
  if (algorithm !== 'crc32') return createHash(algorithm.replace('-', '')).update(of).digest('base64');
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(of));
  return sum.toString('base64');
};

/** A link that is good for long, one that is over and one that was used. */
async function makeLinks(baseUrl: string, clock: { at: number }) {
  const make = async (wishes: object): Promise<string> => {
    const init = { method: 'POST', body: JSON.stringify({ expiresIn: 600, ...wishes }) };
    const { put } = (await (await fetch(`${baseUrl}/_f_/demo/upload-link`, init)).json()) as { put: string };
    return put.replace(/^.*link=/, '');
  };
  const [late, used] = [await make({}), await make({ times: 1, expiresIn: 604_800 })];
  const use = await fetch(`${baseUrl}/_f_/demo/a?link=${used}`, { method: 'PUT', body: 'x' });
  t.equal(use.status, 200);
  clock.at += 700_000;
  return { GOOD: await make({ expiresIn: 604_800 }), LATE: late, USED: used };
}

for (const [name, openStore] of Object.entries(tusStores))
  t.test(`${name}: no request fails the server, and an upload that was refused much is right`, (t) =>
    fuzz(t, openStore),
  );

async function fuzz(t: Test, openStore: (t: Test) => Promise<ObjectStore>): Promise<void> {
  const store = await openStore(t);
  const clock = { at: Date.now() };
  const signingKeys = createConfiguredKeys('a secret of a test, long enough for it');
  const { baseUrl, rows, log } = await serveGatewayOn(t, store, {
    maxUploadBytes: length,
    maxOpenUploads: 1_000_000,
    uploadLinks: new UploadLinks({ keys: signingKeys, uses: new OwnLinkUses(), now: () => clock.at }),
  });
  const links = await makeLinks(baseUrl, clock);
  const endpoint = `${baseUrl}/_f_/demo/resumable`;
  const tus = { 'tus-resumable': '1.0.0' };
  const begin = async (owner: Record<string, string> = {}): Promise<string> => {
    const answer = await fetch(endpoint, {
      method: 'POST',
      headers: { ...tus, ...owner, 'upload-length': `${length}` },
    });
    return `/${answer.headers.get('location')?.split('/').at(-1)}`;
  };
  const states = new StateStore({ store, deploymentId: testDeployment });
  const beginExpired = async (): Promise<string> => {
    const path = await begin();
    const whose = { ownerId: testOwner, projectSlug: 'demo', name: path.slice(1) };
    const state = await states.load(states.addressOf(whose), never);
    if (state !== null) await states.save({ ...state, savedAt: 1 }, never);
    return path;
  };
  const other = await begin({ 'test-owner': '1b9e2f4e-6a57-4f8a-9d0c-1f2e3d4c5b6b' });
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 12 }), async (requests) => {
      let own = await begin();
      let expired = await beginExpired();
      for (const { method, place, headers, size, twice } of requests) {
        const hasBody = size !== undefined && method !== 'GET' && method !== 'HEAD';
        // where the bytes belong, so that what is taken is right
        const offset = Number(headers['upload-offset'] ?? 0) || 0;
        const body = Buffer.concat([bytes, bytes])
          .subarray(Math.max(0, offset))
          .subarray(0, hasBody ? size : 0);
        const sent = Object.entries(headers)
          .filter((pair): pair is [string, string] => pair[1] !== undefined)
          .map(([name, value]): [string, string] => [
            name,
            value
              .replaceAll('OWN', `/_f_/demo/resumable${own}`)
              .replace(
                /(sha-?\d+|crc32)([ =:]+)RIGHT/,
                (_, algorithm, sign) => algorithm + sign + hash(algorithm, body),
              )
              .replace('ALL', hash('sha256', bytes)),
          ]);
        const address = place
          .replace(/^\/own|^\/other|^\/expired/, (at) => ({ '/own': own, '/other': other })[at] ?? expired)
          .replace(/GOOD|LATE|USED/, (link) => links[link as keyof typeof links]);
        const send = async () => {
          const init = { method, headers: sent, ...(hasBody ? { body } : {}) };
          const answer = await fetch(endpoint + address, init);
          const told = await answer.text();
          if (answer.status >= 500) throw new Error(`${method} ${address}: ${answer.status} ${told}`);
          return answer;
        };
        const answers = await Promise.all(twice ? [send(), send()] : [send()]);
        const isOk = answers.some(({ ok }) => ok);
        const drops =
          method === 'DELETE' || (method === 'POST' && headers['x-http-method-override'] === 'DELETE');
        if (isOk && /^\/other|LATE|USED/.test(place)) throw new Error(`${method} ${place}: it is let in`);
        if (isOk && place === '/expired' && !drops) throw new Error(`${method}: an expired upload goes on`);
        if (isOk && place === '/own' && drops) own = await begin();
        if (isOk && place === '/expired') expired = await beginExpired();
      }
      const head = await fetch(endpoint + own, { method: 'HEAD', headers: tus });
      const at = Number(head.headers.get('upload-offset'));
      const last = await fetch(endpoint + own, {
        method: 'PATCH',
        headers: { ...tus, 'upload-offset': `${at}`, 'content-type': 'application/offset+octet-stream' },
        body: bytes.subarray(at),
      });
      const told = await last.text();
      if (at < length && last.status !== 204) throw new Error(`${last.status} at ${at}: ${told}`);
      const file = rows.get(own.slice(1));
      const stored = await collect(store.read(file?.objectKey ?? '', null, never));
      if (!stored.equals(bytes)) throw new Error('the file has other bytes');
    }),
    { numRuns: sized(250, 20) },
  );
  t.strictSame(log.failures, []);
}
