/** Headers and bodies that no client sends, at every address of uploads that can go on: clear refusals, and bytes stay right. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { createFileSystemStore } from '../../common/object-store/file-system/file-system-store.ts';
import { serveGatewayOn } from '../services/gateway-on-s3.ts';
import { sized } from '../services/test-size.ts';
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
const checksum = fc.oneof(
  text,
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
    fc.oneof(text, fc.constantFrom('sha-256=:AAAA:', 'x=:AAAA:', 'sha-512=::, sha-256=1', ',,')),
    { nil: undefined, freq: 5 },
  ),
  'upload-concat': sometimes(
    fc.oneof(
      text,
      fc.constantFrom(
        'partial',
        'final',
        'final;',
        'final;/_f_/demo/resumable/x /',
        'final;OWN',
        'final;OWN OWN',
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
  place: fc.constantFrom('', '?link=x.y', '/own', '/other', '/x', '/%00', '/..%2f', '/x?upload=x.y'),
  headers,
  size: sometimes(fc.integer({ min: 0, max: length + 1 })),
});

t.test('no request fails the server, and an upload that was refused much is right', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'sluice-fuzz-'));
  t.teardown(() => rm(root, { recursive: true, force: true }));
  const store = await createFileSystemStore({ root });
  const { baseUrl, rows, log } = await serveGatewayOn(t, store, {
    ...{ maxUploadBytes: length, maxOpenUploads: 1_000_000 },
  });
  const endpoint = `${baseUrl}/_f_/demo/resumable`;
  const tus = { 'tus-resumable': '1.0.0' };
  const begin = async (owner: Record<string, string> = {}): Promise<string> => {
    const answer = await fetch(endpoint, {
      method: 'POST',
      headers: { ...tus, ...owner, 'upload-length': `${length}` },
    });
    return `/${answer.headers.get('location')?.split('/').at(-1)}`;
  };
  const other = await begin({ 'test-owner': '1b9e2f4e-6a57-4f8a-9d0c-1f2e3d4c5b6b' });
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 12 }), async (requests) => {
      let own = await begin();
      for (const { method, place, headers, size } of requests) {
        const ownAddress = `/_f_/demo/resumable${own}`;
        const sent = Object.entries(headers)
          .filter((pair): pair is [string, string] => pair[1] !== undefined)
          .map(([name, value]) => [name, value.replaceAll('OWN', ownAddress)] as [string, string]);
        const hasBody = size !== undefined && method !== 'GET' && method !== 'HEAD';
        const address = place === '/own' ? own : place === '/other' ? other : place;
        // where the bytes belong, so that what is taken is right
        const offset = Number(headers['upload-offset'] ?? 0) || 0;
        const answer = await fetch(endpoint + address, {
          method,
          headers: sent,
          ...(hasBody
            ? { body: Buffer.concat([bytes, bytes]).subarray(Math.max(0, offset)).subarray(0, size) }
            : {}),
        });
        const told = await answer.text();
        if (answer.status >= 500) throw new Error(`${method} ${address}: ${answer.status} ${told}`);
        if (place === '/other' && answer.ok) throw new Error(`${method}: another account's upload`);
        if (place === '/own' && method === 'DELETE' && answer.ok) own = await begin();
      }
      const head = await fetch(endpoint + own, { method: 'HEAD', headers: tus });
      const at = Number(head.headers.get('upload-offset'));
      const last = await fetch(endpoint + own, {
        method: 'PATCH',
        headers: { ...tus, 'upload-offset': `${at}`, 'content-type': 'application/offset+octet-stream' },
        body: bytes.subarray(at),
      });
      await last.text();
      if (at < length && last.status !== 200) throw new Error(`${last.status} at ${at}`);
      const file = rows.get(own.slice(1));
      const stored = await collect(store.read(file?.objectKey ?? '', null, never));
      if (!stored.equals(bytes)) throw new Error('the file has other bytes');
    }),
    { numRuns: sized(500, 40) },
  );
  t.strictSame(log.failures, []);
});
