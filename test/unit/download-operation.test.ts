import t from 'tap';
import { createConfiguredKeys } from '#auth/signing-keys.ts';
import { noneClosed } from '#catalogue/closed-accounts.ts';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import { SmallFiles, smallFileBytes } from '#gateway/download/small-files.ts';
import { createFileLinks } from '#gateway/links/file-links.ts';
import { downloadOperation } from '#gateway/operations/download.ts';
import { unauthorized } from '#kernel/errors/catalogue.ts';
import type { ByteRange, ObjectStore } from '#objects/object-store.ts';
import { type FakeRequestArgs, fakeRequest, responseBytes } from '../services/fake-request.ts';
import { noPictures } from '../services/pictures.ts';
import { noSmallFiles, plentyOfSlots } from '../services/plenty-of-slots.ts';

const file: CloudFile = {
  id: '0b8f0a52-5a0e-4d53-9d6c-0f4d0d8d9f11',
  name: '0b8f0a52-5a0e-4d53-9d6c-0f4d0d8d9f11_a.txt',
  originalName: 'ä.txt',
  ownerId: 'owner',
  projectSlug: 'demo',
  objectKey: 'owner/demo/0b8f0a52-5a0e-4d53-9d6c-0f4d0d8d9f11_a.txt',
  contentType: 'text/plain',
  size: 10,
  crc32: 0,
  createdAt: new Date('2026-01-02T03:04:05.678Z'),
  updatedAt: new Date('2026-01-02T03:04:05.678Z'),
};
const links = createFileLinks(createConfiguredKeys('a secret of a test, long enough for it'));
const content = Buffer.from('0123456789');

/** A store with that one object, or with none. */
function storeOf(bytes: Buffer | null): ObjectStore {
  return {
    head: async (key: string) => (bytes === null ? null : { key, size: bytes.byteLength }),
    async *read(_key: string, range: ByteRange | null) {
      if (bytes === null) throw new Error('no such object');
      yield range === null ? bytes : bytes.subarray(range.start, range.end + 1);
    },
  } as unknown as ObjectStore;
}

function download(
  args: FakeRequestArgs = {},
  {
    fileLinks = 'public',
    stored = file,
    bytes = content,
    smallFiles = noSmallFiles(),
  }: Partial<{
    fileLinks: 'public' | 'private';
    stored: CloudFile;
    bytes: Buffer | null;
    smallFiles: SmallFiles;
  }> = {},
) {
  const lookups: string[] = [];
  const operation = downloadOperation({
    authenticate: async (request) => {
      const userId = { 'Bearer owner': 'owner', 'Bearer other': 'other' }[
        request.header('authorization') ?? ''
      ];
      if (userId === undefined) throw unauthorized('bad token');
      return { userId, tokenId: 't' };
    },
    cloudFiles: {
      async findAny(name) {
        lookups.push(name);
        return name === stored.name ? stored : null;
      },
    },
    store: storeOf(bytes),
    downloads: plentyOfSlots(),
    smallFiles,
    pictures: noPictures,
    redirects: null,
    links,
    closed: noneClosed,
    fileLinks,
  });
  const response = (async () =>
    operation(fakeRequest({ params: { project: 'demo', name: stored.name }, ...args })))();
  return { response, lookups };
}

t.test('the whole file', async (t) => {
  const response = await download().response;
  t.equal(response.status, 200);
  t.strictSame(response.headers, {
    'content-type': 'text/plain; charset=utf-8',
    'content-disposition': `inline; filename="_.txt"; filename*=UTF-8''%C3%A4.txt`,
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    etag: `"${file.id}"`,
    'last-modified': 'Fri, 02 Jan 2026 03:04:05 GMT',
    'cache-control': 'public, max-age=31536000, immutable',
    'accept-ranges': 'bytes',
  });
  t.match(response.body, { length: 10 });
  t.equal((await responseBytes(response)).toString(), '0123456789');
});

t.test('a range', async (t) => {
  const response = await download({ headers: { range: 'bytes=2-4' } }).response;
  t.match(response, { status: 206, headers: { 'content-range': 'bytes 2-4/10' }, body: { length: 3 } });
  t.equal((await responseBytes(response)).toString(), '234');
  await t.rejects(download({ headers: { range: 'bytes=10-' } }).response, {
    code: 'range_not_satisfiable',
    headers: { 'content-range': 'bytes */10' },
  });
});

t.test('a range is ignored for HEAD and when If-Range names another state', async (t) => {
  const range = 'bytes=2-4';
  for (const args of [
    { method: 'HEAD', headers: { range } },
    { headers: { range, 'if-range': '"other"' } },
    { headers: { range, 'if-range': 'Fri, 02 Jan 2026 03:04:06 GMT' } },
  ]) {
    t.match(await download(args).response, { status: 200, body: { length: 10 } });
  }
  const good = await download({ headers: { range, 'if-range': `"${file.id}"` } }).response;
  t.equal(good.status, 206);
});

t.test('304, before the range is looked at', async (t) => {
  for (const headers of [
    { 'if-none-match': `"${file.id}"` },
    { 'if-modified-since': 'Fri, 02 Jan 2026 03:04:05 GMT' },
    { 'if-none-match': '*', range: 'bytes=100-' },
  ] as Record<string, string>[]) {
    const response = await download({ headers }).response;
    t.equal(response.status, 304);
    t.equal(response.body, undefined);
    t.match(response.headers, { etag: `"${file.id}"`, 'cache-control': String });
  }
});

t.test('an empty file', async (t) => {
  const stored = { ...file, size: 0 };
  const response = await download({ headers: { range: 'bytes=-5' } }, { stored, bytes: Buffer.alloc(0) })
    .response;
  t.match(response, { status: 200, body: { length: 0 } });
});

t.test('what is not there is 404', async (t) => {
  const missing = { code: 'not_found' };
  await t.rejects(download({ params: { project: 'other', name: file.name } }).response, missing);
  await t.rejects(
    download({ params: { project: 'demo', name: file.name.replace('a.txt', 'b.txt') } }).response,
    missing,
  );
  const odd = download({ params: { project: 'demo', name: "x' OR 1" } });
  await t.rejects(odd.response, missing);
  t.strictSame(odd.lookups, [], 'names that we never made are not looked up');
});

t.test('a row whose object is gone is 404', async (t) => {
  await t.rejects(download({}, { bytes: null }).response, { code: 'not_found' });
  const large = { bytes: null, stored: { ...file, size: smallFileBytes + 1 } };
  await t.rejects(responseBytes(await download({}, large).response), { code: 'not_found' });
});

t.test('an object that is not as long as its row says is no answer', async (t) => {
  for (const size of [9, 11]) await t.rejects(download({}, { stored: { ...file, size } }).response);
});

t.test('a small file is kept, and asked for as any other', async (t) => {
  const smallFiles = new SmallFiles({ bytes: 1_000_000, singleWriter: true });
  const first = await download({}, { smallFiles }).response;
  /** With nothing in the store, and no row. */
  const again = (args: FakeRequestArgs = {}, fileLinks: 'public' | 'private' = 'public') =>
    download(
      { params: { project: 'demo', name: file.name }, ...args },
      {
        smallFiles,
        fileLinks,
        bytes: null,
        stored: { ...file, name: 'none' },
      },
    );
  const kept = again();
  const { status, headers, body } = await kept.response;
  t.strictSame({ status, headers, body }, first);
  t.strictSame(kept.lookups, []);
  const etag = `"${file.id}"`;
  t.match(await again({ headers: { range: 'bytes=2-4' } }).response, {
    status: 206,
    headers: { 'content-range': 'bytes 2-4/10' },
    body: content.subarray(2, 5),
  });
  t.match(await again({ headers: { 'if-none-match': etag } }).response, { status: 304, body: undefined });
  const missing = { code: 'not_found' };
  await t.rejects(again({ params: { project: 'other', name: file.name } }).response, missing);
  await t.rejects(again({ headers: { authorization: 'Bearer other' } }).response, missing);
  await t.rejects(again({ headers: { authorization: 'Bearer bad' } }).response, { code: 'unauthorized' });
  await t.rejects(again({}, 'private').response, { code: 'unauthorized' });
  const expires = [['expires', '1']] as const;
  await t.rejects(again({ query: expires }).response, { code: 'link_refused' });
  const signed = new URLSearchParams(await links.sign(file, new Date(Date.now() + 60_000)));
  t.match(await again({ query: [...signed] }).response, {
    status: 200,
    headers: { 'cache-control': 'private, no-cache' },
  });
});

t.test('a token, where one is given, must be good and its owner the file’s', async (t) => {
  const as = (token: string, fileLinks: 'public' | 'private') =>
    download({ headers: { authorization: token } }, { fileLinks }).response;
  for (const links of ['public', 'private'] as const) {
    t.equal((await as('Bearer owner', links)).status, 200);
    await t.rejects(as('Bearer other', links), { code: 'not_found' });
    await t.rejects(as('Bearer wrong', links), { code: 'unauthorized' });
  }
});

t.test('private links need a token and are not kept by shared caches', async (t) => {
  await t.rejects(download({}, { fileLinks: 'private' }).response, { code: 'unauthorized' });
  const response = await download({ headers: { authorization: 'Bearer owner' } }, { fileLinks: 'private' })
    .response;
  t.match(response.headers, { 'cache-control': 'private, no-cache' });
});

t.test('a link that expires stands for the token of the owner', async (t) => {
  const expires = new Date(Date.now() + 60_000);
  const signed = new URLSearchParams(await links.sign(file, expires));
  const open = (query: readonly (readonly [string, string])[], args: FakeRequestArgs = {}) =>
    download({ query, ...args }, { fileLinks: 'private' });
  const { response } = open([...signed]);
  t.match(await response, { status: 200, headers: { 'cache-control': 'private, no-cache' } });

  const [seconds, signature] = [signed.get('expires') as string, signed.get('signature') as string];
  const [id, mac = ''] = signature.split('.');
  const later = `${Number(seconds) + 1}`;
  const over = new URLSearchParams(await links.sign(file, new Date(Date.now() - 1000)));
  const ofAnother = new URLSearchParams(await links.sign({ ...file, name: `${file.name}x` }, expires));
  const refused: Record<string, readonly (readonly [string, string])[]> = {
    'a later time': [
      ['expires', later],
      ['signature', signature],
    ],
    'no time': [['signature', signature]],
    'no signature': [['expires', seconds]],
    'two times': [...signed, ['expires', seconds]],
    over: [...over],
    'another file': [...ofAnother],
    'another key': [
      ['expires', seconds],
      ['signature', `${'0'.repeat(16)}.${mac}`],
    ],
    'a byte less': [
      ['expires', seconds],
      ['signature', `${id}.${mac.slice(1)}`],
    ],
    'another byte': [
      ['expires', seconds],
      ['signature', `${id}.${mac.startsWith('A') ? 'B' : 'A'}${mac.slice(1)}`],
    ],
    'a time that is no number': [
      ['expires', '1e99'],
      ['signature', signature],
    ],
  };
  for (const [name, query] of Object.entries(refused)) {
    const { response, lookups } = open(query, { headers: { authorization: 'Bearer owner' } });
    await t.rejects(response, { code: 'link_refused' }, name);
    t.strictSame(lookups, [], 'nothing is looked up for it');
  }
});
