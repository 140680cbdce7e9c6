import { createHash } from 'node:crypto';
import t, { type Test } from 'tap';
import { createConfiguredKeys } from '#auth/signing-keys.ts';
import { connect } from '#client/client.ts';
import { download } from '#client/download.ts';
import type { CloudFile } from '#gateway/catalogue/cloud-file.ts';
import { DirectDownloads } from '#gateway/download/direct-downloads.ts';
import { SmallFiles, smallFileBytes } from '#gateway/download/small-files.ts';
import { createFileLinks } from '#gateway/links/file-links.ts';
import { unauthorized } from '#kernel/errors/catalogue.ts';
import { newFile } from '../services/new-file.ts';
import { serveRoutes } from '../services/serve-routes.ts';
import { storeObject } from '../services/store-object.ts';
import { openStubStore } from '../services/stub-store.ts';
import { filesInMemory, testGateway } from '../services/test-gateway.ts';
import { patternBytes } from './object-store-contract.ts';

const links = createFileLinks(createConfiguredKeys('a secret of a test, long enough for it'));
const large = patternBytes(smallFileBytes + 1000);
const hour = 3_600_000;

interface Options {
  readonly fileLinks?: 'public' | 'private';
  readonly corsOrigins?: readonly string[];
  readonly cacheBytes?: number;
}

/** A gateway that redirects to a stub of S3, which checks signatures, with a file in it. */
async function serve(t: Test, options: Options = {}, change: Partial<CloudFile> = {}, bytes = large) {
  const { stub, store } = await openStubStore(t);
  const { rows, cloudFiles } = filesInMemory();
  const smallFiles = new SmallFiles({ bytes: options.cacheBytes ?? 1_000_000, singleWriter: true });
  const closed = new Set<string>();
  const clock = { now: Date.now() };
  const { baseUrl } = await serveRoutes(
    t,
    testGateway({
      async authenticate(request) {
        const [, userId] = /^Bearer (ada|eve)$/.exec(request.header('authorization') ?? '') ?? [];
        if (userId === undefined) throw unauthorized('not good');
        const grants = request.header('test-backup') === undefined ? {} : { grants: { may: ['backup'] } };
        return { userId, tokenId: 't', ...grants } as never;
      },
      store,
      cloudFiles,
      smallFiles,
      redirects: new DirectDownloads({
        store,
        direct: store.direct as NonNullable<typeof store.direct>,
        above: smallFiles.isOn ? smallFileBytes : 0,
        now: () => clock.now,
      }),
      links,
      closed,
      fileLinks: options.fileLinks ?? 'public',
    }),
    { corsOrigins: options.corsOrigins ?? ['*'] },
  );
  const file = newFile({ ownerId: 'ada', size: bytes.byteLength, ...change });
  rows.set(file.name, file);
  await storeObject(store, file.objectKey, bytes);
  const address = `${baseUrl}/_f_/${file.projectSlug}/${file.name}`;
  /** One request, whose redirect is not followed. */
  const ask = (headers: Record<string, string> = {}, { url = address, method = 'GET' } = {}) =>
    fetch(url, { method, headers, redirect: 'manual' });
  const locationOf = async (...args: Parameters<typeof ask>) => {
    const answer = await ask(...args);
    t.equal(answer.status, 307);
    return new URL(answer.headers.get('location') ?? '');
  };
  const linkUntil = async (time: number) => `${address}?${await links.sign(file, new Date(time))}`;
  return { stub, store, rows, closed, clock, file, address, ask, locationOf, linkUntil };
}

t.test('a GET is redirected to the bucket, which gives the file with our headers', async (t) => {
  const { stub, address, ask, file } = await serve(
    t,
    {},
    { contentType: 'text/html', originalName: 'ä.html' },
  );
  const answer = await ask();
  t.equal(answer.status, 307);
  t.equal(answer.headers.get('cache-control'), 'private, no-store');
  t.equal(answer.headers.get('access-control-allow-origin'), '*');
  t.equal((await answer.arrayBuffer()).byteLength, 0);
  const location = new URL(answer.headers.get('location') ?? '');
  t.equal(
    location.origin + decodeURIComponent(location.pathname),
    `${stub.endpoint}/${stub.bucket}/${file.objectKey}`,
  );
  const followed = await fetch(address);
  t.equal(followed.status, 200);
  t.ok(Buffer.from(await followed.arrayBuffer()).equals(large));
  const { headers } = followed;
  t.equal(headers.get('content-type'), 'application/octet-stream');
  t.match(
    headers.get('content-disposition'),
    /^attachment; filename="_\.html"; filename\*=UTF-8''%C3%A4\.html$/,
  );
  t.equal(headers.get('cache-control'), 'private');
});

t.test('ranges are asked of the bucket', async (t) => {
  const { address, ask } = await serve(t);
  for (const [range, from, to] of [
    ['bytes=2-4', 2, 5],
    ['bytes=60000-', 60_000, large.byteLength],
    ['bytes=-7', large.byteLength - 7, large.byteLength],
    ['bytes=0-99999999', 0, large.byteLength],
  ] as const) {
    const answer = await fetch(address, { headers: { range } });
    t.equal(answer.status, 206, range);
    t.ok(answer.redirected, range);
    t.ok(Buffer.from(await answer.arrayBuffer()).equals(large.subarray(from, to)), range);
  }
  const outside = await ask({ range: `bytes=${large.byteLength}-` });
  t.equal(outside.status, 416);
  t.equal(outside.headers.get('content-range'), `bytes */${large.byteLength}`);
  for (const range of ['bytes=0-1,4-5', 'lines=0-1', 'bytes=5-2', 'bytes=0-1,']) {
    const { status } = await ask({ range });
    t.not(status, 307, `${range}: servers disagree on it`);
  }
});

t.test('an address has one ETag, whoever answers', async (t) => {
  const { stub, address, ask } = await serve(t);
  const bucket = await fetch(address);
  const etag = bucket.headers.get('etag') ?? '';
  const modified = bucket.headers.get('last-modified') ?? '';
  t.not(etag, '');
  const head = await ask({}, { method: 'HEAD' });
  const several = await ask({ range: 'bytes=0-1,4-5' });
  t.equal(several.status, 200);
  const copy = await ask({ 'if-none-match': etag });
  for (const { headers } of [head, several, copy]) {
    t.equal(headers.get('etag'), etag);
    t.equal(headers.get('last-modified'), modified);
  }
  t.equal(head.status, 200);
  t.equal(head.headers.get('content-length'), `${large.byteLength}`);
  t.equal(head.headers.get('accept-ranges'), 'bytes');
  t.equal(stub.counts().HeadObject, 1, 'which is read once');
});

t.test('preconditions are checked before the redirect, and hold at the bucket', async (t) => {
  const { address, ask, file } = await serve(t);
  const { headers } = await fetch(address);
  const etag = headers.get('etag') ?? '';
  const modified = headers.get('last-modified') ?? '';
  const earlier = new Date(Date.parse(modified) - 1000).toUTCString();
  const later = new Date(Date.parse(modified) + 1000).toUTCString();
  const cases: [headers: Record<string, string>, status: number, followed: number][] = [
    [{ 'if-match': etag }, 307, 200],
    [{ 'if-match': etag, range: 'bytes=1-2' }, 307, 206],
    [{ 'if-match': '"another"' }, 412, 412],
    [{ 'if-match': `"${file.id}"` }, 412, 412],
    [{ 'if-none-match': etag }, 304, 304],
    [{ 'if-none-match': etag, range: 'bytes=1-2' }, 304, 304],
    [{ 'if-none-match': '"another"' }, 307, 200],
    [{ 'if-modified-since': modified }, 304, 304],
    [{ 'if-modified-since': earlier }, 307, 200],
    [{ 'if-unmodified-since': modified }, 307, 200],
    [{ 'if-unmodified-since': later }, 307, 200],
    [{ 'if-unmodified-since': earlier }, 412, 412],
    [{ 'if-range': etag, range: 'bytes=1-2' }, 307, 206],
    [{ 'if-range': modified, range: 'bytes=1-2' }, 307, 206],
    // S3 would send the range
    [{ 'if-range': '"another"', range: 'bytes=1-2' }, 200, 200],
    [{ 'if-range': earlier, range: 'bytes=1-2' }, 200, 200],
    [{ 'if-range': `W/${etag}`, range: 'bytes=1-2' }, 200, 200],
    [{ 'if-range': '"another"' }, 307, 200],
  ];
  for (const [given, status, followed] of cases) {
    const name = JSON.stringify(given);
    t.equal((await ask(given)).status, status, name);
    t.equal((await fetch(address, { headers: given })).status, followed, `${name}, followed`);
  }
});

t.test('a HEAD is answered here, with the headers of the file', async (t) => {
  const { address, ask } = await serve(t);
  const { headers } = await fetch(address);
  const etag = headers.get('etag') ?? '';
  const status = async (given: Record<string, string>) => (await ask(given, { method: 'HEAD' })).status;
  t.equal(await status({ range: 'bytes=1-2' }), 200);
  t.equal(await status({ 'if-none-match': etag }), 304);
  t.equal(await status({ 'if-match': '"another"' }), 412);
});

t.test('nothing is redirected before it was checked', async (t) => {
  const { ask, address, file, rows, closed, linkUntil } = await serve(t, { fileLinks: 'private' });
  const status = async (headers: Record<string, string>, url = address) => {
    const answer = await ask(headers, { url });
    if (answer.status !== 307) t.equal(answer.headers.get('location'), null);
    return answer.status;
  };
  const ada = { authorization: 'Bearer ada' };
  const link = await linkUntil(Date.now() + hour);
  t.equal(await status(ada), 307);
  t.equal(await status({}, link), 307);
  t.equal(await status({}), 401, 'without a token');
  t.equal(await status({ authorization: 'Bearer eve' }), 404, 'with the token of another');
  t.equal(await status({ authorization: 'Bearer mallory' }), 401, 'with no token of ours');
  t.equal(await status({}, await linkUntil(Date.now() - 1000)), 403, 'by a link that has ended');
  t.equal(await status({}, link.replace('signature=', 'signature=0')), 403, 'by a link that nobody signed');
  t.equal(
    await status(
      {},
      link.replace(/expires=(\d+)/, (_, end) => `expires=${Number(end) + 1}`),
    ),
    403,
  );
  const strange = newFile({ ownerId: 'eve', size: large.byteLength });
  rows.set(strange.name, strange);
  t.equal(await status({}, link.replace(file.name, strange.name)), 403, 'by the link of another file');
  t.equal(await status(ada, address.replace(file.name, strange.name)), 404, 'the file of another');
  t.equal(await status(ada, address.replace('/demo/', '/other/')), 404, 'in another project');
  closed.add('ada');
  t.equal(await status(ada), 404, 'of a deleted account');
  closed.delete('ada');
  rows.delete(file.name);
  t.equal(await status(ada), 404, 'a deleted file');
});

t.test('an address says nothing of the request, and reads no other file', async (t) => {
  const { stub, store, locationOf, linkUntil, file } = await serve(t, { fileLinks: 'private' });
  const link = await linkUntil(Date.now() + hour);
  const location = await locationOf({ authorization: 'Bearer ada' }, { url: link });
  t.notMatch(location.search, /signature=.*&?expires=|[?&](?:expires|signature)=/);
  t.notOk(location.href.includes(new URL(link).searchParams.get('signature') ?? 'missing'));
  t.notMatch(location.href, stub.secretAccessKey);
  const other = file.objectKey.replace(/_a\.txt$/, '_b.txt');
  await storeObject(store, other, large);
  const status = async (url: string, method = 'GET') => (await fetch(url, { method })).status;
  t.equal(await status(location.href), 200);
  t.equal(await status(location.href.replace('_a.txt', '_b.txt')), 403);
  t.equal(
    await status(location.href.replace('attachment', 'inline')),
    location.href.includes('inline') ? 200 : 403,
  );
  for (const method of ['HEAD', 'PUT', 'DELETE']) t.equal(await status(location.href, method), 403, method);
});

t.test(
  'addresses live five minutes, those of media six hours, and none five minutes longer than its link',
  async (t) => {
    const minute = 60;
    const lifetimeOf = ({ searchParams }: URL) => Number(searchParams.get('X-Amz-Expires'));
    const text = await serve(t);
    const now = Math.floor(text.clock.now / 1000) * 1000;
    t.equal(lifetimeOf(await text.locationOf()), 6 * minute);
    t.equal(lifetimeOf(await text.locationOf({}, { url: await text.linkUntil(now + hour) })), 6 * minute);
    for (const contentType of ['video/mp4', 'audio/mpeg']) {
      const film = await serve(t, {}, { contentType });
      const end = Math.floor(film.clock.now / 1000) * 1000;
      const linked = async (until: number) =>
        lifetimeOf(await film.locationOf({}, { url: await film.linkUntil(until) }));
      t.equal(lifetimeOf(await film.locationOf()), 361 * minute);
      t.equal(await linked(end + 24 * hour), 361 * minute);
      t.equal(await linked(end + hour), 65 * minute);
      film.clock.now += hour - 30_000;
      t.ok((await linked(end + hour)) <= 5.5 * minute, 'a link that ends soon');
    }
  },
);

t.test('an address is given for a minute', async (t) => {
  const { locationOf, clock, linkUntil } = await serve(t, {}, { contentType: 'video/mp4' });
  const first = await locationOf();
  t.equal((await locationOf()).href, first.href);
  const signature = async (options = {}) => (await locationOf({}, options)).searchParams.get('X-Amz-Expires');
  const until = clock.now + hour;
  const short = await signature({ url: await linkUntil(until) });
  t.not(short, await signature(), 'a link that ends earlier has its own');
  clock.now += 59_000;
  t.equal((await locationOf()).href, first.href);
  t.equal(await signature({ url: await linkUntil(until) }), short);
  clock.now += 2000;
  t.equal(Number(short) - Number(await signature({ url: await linkUntil(until) })), 61);
});

t.test('what must not leave, or needs our headers, is answered here', async (t) => {
  const { ask, address } = await serve(t, {}, { owner: 'a user' });
  const etag = (await fetch(address)).headers.get('etag');
  const ada = { authorization: 'Bearer ada' };
  const backup = await ask({ ...ada, 'test-backup': '1' });
  t.equal(backup.status, 200);
  t.equal(backup.headers.get('sluice-file-owner'), 'a user');
  const user = await ask({ ...ada, token: 'a login token' });
  t.equal(user.status, 200);
  for (const answer of [backup, user]) {
    t.equal(answer.headers.get('etag'), etag);
    t.ok(Buffer.from(await answer.arrayBuffer()).equals(large));
  }
});

t.test('small files are sent from memory, unless none are kept', async (t) => {
  const small = large.subarray(0, smallFileBytes);
  const kept = await serve(t, {}, {}, small);
  const first = await kept.ask();
  t.equal(first.status, 200);
  const requests = kept.stub.requests.length;
  const again = await kept.ask();
  t.ok(Buffer.from(await again.arrayBuffer()).equals(small));
  t.equal(again.headers.get('etag'), first.headers.get('etag'));
  const head = await kept.ask({}, { method: 'HEAD' });
  t.equal(head.headers.get('etag'), first.headers.get('etag'));
  t.equal(kept.stub.requests.length, requests);
  const none = await serve(t, { cacheBytes: 0 }, {}, small);
  t.equal((await none.ask()).status, 307);
});

t.test('a missing object is a 404 of the bucket, and ours for a HEAD', async (t) => {
  const { store, file, ask, address } = await serve(t);
  await store.delete(file.objectKey, new AbortController().signal);
  t.equal((await fetch(address)).status, 404);
  t.equal((await ask({}, { method: 'HEAD' })).status, 404);
});

t.test('pages of allowed origins may follow', async (t) => {
  const origin = 'https://app.example.com';
  const { ask } = await serve(t, { corsOrigins: [origin] });
  const allowed = await ask({ origin });
  t.equal(allowed.headers.get('access-control-allow-origin'), origin);
  t.match(allowed.headers.get('vary'), /origin/i);
  const other = await ask({ origin: 'https://other.example.com' });
  t.equal(other.headers.get('access-control-allow-origin'), null);
});

t.test('our client follows, and resumes by the ETag of the bucket', async (t) => {
  const { address, file, stub } = await serve(t, { fileLinks: 'private' });
  for (const user of [undefined, 'a login token']) {
    const client = connect({ url: new URL(address).origin, token: 'ada', project: 'demo', user });
    const whole = await download(client, file.name);
    t.ok(Buffer.from(await new Response(whole.stream).arrayBuffer()).equals(large));
    t.equal(whole.size, large.byteLength);
    t.equal(whole.etag, `"${stub.objects()[0]?.etag}"`);
    const rest = await download(client, file.name, { from: 60_000, etag: whole.etag });
    t.ok(Buffer.from(await new Response(rest.stream).arrayBuffer()).equals(large.subarray(60_000)));
    await t.rejects(download(client, file.name, { from: 60_000, etag: '"another"' }), {
      code: 'file_changed',
    });
  }
});

t.test('the bytes are those that were stored', async (t) => {
  const bytes = patternBytes(3 * smallFileBytes);
  const { address } = await serve(t, {}, { contentType: 'video/mp4' }, bytes);
  const digest = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.byteLength; at += 50_000) {
    const range = `bytes=${at}-${at + 49_999}`;
    pieces.push(Buffer.from(await (await fetch(address, { headers: { range } })).arrayBuffer()));
  }
  t.equal(digest(Buffer.concat(pieces)), digest(bytes));
});
