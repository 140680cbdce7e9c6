/** Links by which those upload who have no token: as a form, as a plain body, and by tus. */
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { Upload } from 'tus-js-client';
import { createConfiguredKeys } from '#auth/signing-keys.ts';
import { OwnLinkUses } from '#gateway/links/link-uses.ts';
import { UploadLinks } from '#gateway/links/upload-links.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { chunkType, serveTus, tusStores } from '../services/tus-gateway.ts';
import { patternBytes } from './object-store-contract.ts';

const owner = '0b9e2f4e-6a57-4f8a-9d0c-1f2e3d4c5b6a';
const bytes = patternBytes(90_000);
const refused = { status: 403, code: 'link_refused' };

/** A client that has no token but a link. */
async function serveLinks(t: Test, uploadLinks?: UploadLinks) {
  const store = await tusStores['file system'](t);
  const token = { 'test-token': 'needed', 'test-owner': owner };
  const gateway = await serveTus(t, store, { needToken: true, ...(uploadLinks && { uploadLinks }) });
  const { baseUrl } = gateway;
  const make = async (wishes: unknown, headers: Record<string, string> = token, project = 'demo') => {
    const response = await fetch(`${baseUrl}/_f_/${project}/upload-link`, {
      method: 'POST',
      headers,
      body: JSON.stringify(wishes),
    });
    const answer = (await response.json()) as Record<string, string>;
    const at = (address = '') => address.replace('http://files.test', baseUrl);
    return {
      status: response.status,
      ...answer,
      form: at(answer.form),
      put: at(answer.put),
      resumable: at(answer.resumable),
    } as Record<'form' | 'put' | 'resumable' | 'code' | 'expiresAt' | 'message', string> & { status: number };
  };
  const answerOf = async (response: Response) => {
    const text = await response.text();
    const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    return { status: response.status, headers: response.headers, ...body };
  };
  const form = async (address: string, content: Uint8Array, name = 'a.png') => {
    const body = new FormData();
    body.set('file', new Blob([Buffer.from(content)]), name);
    return answerOf(await fetch(address, { method: 'POST', body }));
  };
  const put = async (address: string, content: Uint8Array, name = 'a.png') =>
    answerOf(await fetch(address.replace('{name}', name), { method: 'PUT', body: Buffer.from(content) }));
  const tus = async (address: string, method: string, headers: Record<string, string>, body?: Uint8Array) =>
    answerOf(
      await fetch(new URL(address, baseUrl), {
        method,
        headers: { 'tus-resumable': '1.0.0', ...headers },
        ...(body && { body: Buffer.from(body) }),
      }),
    );
  const png = { 'upload-metadata': `filename ${Buffer.from('a.png').toString('base64')}` };
  const begin = (address: string, length: number | null, body?: Uint8Array, metadata = png) => {
    const size = length === null ? { 'upload-defer-length': '1' } : { 'upload-length': `${length}` };
    return tus(address, 'POST', { ...size, ...metadata, ...(body && { 'content-type': chunkType }) }, body);
  };
  const patch = (address: string, offset: number, body: Uint8Array, more: Record<string, string> = {}) =>
    tus(address, 'PATCH', { 'upload-offset': `${offset}`, 'content-type': chunkType, ...more }, body);
  return { ...gateway, make, form, put, tus, begin, patch, token };
}

t.test('a link is good for a form, a plain body and tus, without a token', async (t) => {
  const { make, form, put, begin, patch, tus, rows, stored } = await serveLinks(t);
  const link = await make({ expiresIn: 600 });
  t.equal(link.status, 200);
  t.ok(Date.parse(link.expiresAt) > Date.now() + 590_000);
  t.match(await form(link.form, bytes), { status: 200, ownedBy: owner });
  t.match(await put(link.put, bytes), { status: 200, originalName: 'a.png' });
  const begun = await begin(link.resumable, bytes.byteLength);
  t.equal(begun.status, 201);
  const address = begun.headers.get('location') ?? '';
  t.equal((await patch(address, 0, bytes.subarray(0, 10))).status, 204);
  t.equal((await tus(address, 'HEAD', {})).headers.get('upload-offset'), '10');
  const file = await patch(address, 10, bytes.subarray(10), { prefer: 'return=representation' });
  t.match(file, { status: 200, originalName: 'a.png' });
  t.match(await tus(address, 'GET', {}), { status: 200, originalName: 'a.png' });
  const dropped = (await begin(link.resumable, 5)).headers.get('location') ?? '';
  t.equal((await tus(dropped, 'DELETE', {})).status, 204);
  t.strictSame(
    (await stored()).map((one) => one.equals(bytes)),
    [true, true, true],
  );
  t.strictSame(new Set([...rows.values()].map(({ ownerId }) => ownerId)), new Set([owner]));
});

t.test('tus-js-client uploads by a link, pauses and goes on', async (t) => {
  const { make, rows, stored } = await serveLinks(t);
  const { resumable } = await make({ expiresIn: 600, times: 1 });
  await new Promise<void>((resolve, reject) => {
    let paused = false;
    const upload = new Upload(Buffer.from(bytes), {
      endpoint: resumable,
      chunkSize: 30_000,
      metadata: { filename: 'a.png' },
      onError: reject,
      onSuccess: () => resolve(),
      onChunkComplete() {
        if (!paused) void upload.abort().then(() => upload.start());
        paused = true;
      },
    });
    upload.start();
  });
  t.equal(rows.size, 1);
  t.ok((await stored())[0]?.equals(bytes));
});

t.test('a link that was changed, is late, or has another project or purpose, is refused', async (t) => {
  const now = { at: Date.now() };
  const keys = createConfiguredKeys('a secret of a test, long enough for it');
  const links = new UploadLinks({ keys, uses: new OwnLinkUses(), now: () => now.at });
  const { make, form, put, begin, patch, rows, baseUrl } = await serveLinks(t, links);
  const link = await make({ expiresIn: 600 });
  const begun = await begin(link.resumable, bytes.byteLength);
  const address = begun.headers.get('location') ?? '';
  const value = new URL(link.form).searchParams.get('link') ?? '';
  const more = Buffer.from(
    JSON.stringify({
      ...JSON.parse(Buffer.from(value.split('.')[0] ?? '', 'base64url').toString()),
      maxBytes: 9e9,
    }),
  ).toString('base64url');
  const changed = [
    // the bits of the last letter that count are the same
    value.slice(0, -1) + String.fromCharCode(value.charCodeAt(value.length - 1) + 1),
    value.replace(/^[^.]*/, more),
    ...[
      '',
      'x',
      '.',
      `${value}x`,
      value.split('.')[0] ?? '',
      new URL(address, baseUrl).searchParams.get('upload') ?? '',
    ],
  ];
  for (const one of changed) {
    const query = `link=${encodeURIComponent(one)}`;
    t.match(await form(`${baseUrl}/_f_/demo/upload?${query}`, bytes), refused, one);
    t.match(await put(`${baseUrl}/_f_/demo/a.png?${query}`, bytes), refused, one);
    t.match(await begin(`${baseUrl}/_f_/demo/resumable?${query}`, 5), refused, one);
  }
  t.match(await form(link.form.replace('demo', 'other'), bytes), refused);
  for (const one of [address.replace('upload=', 'upload=x'), address.replace('demo', 'other'), `${address}x`])
    t.match(await patch(one, 0, bytes), refused, one);
  t.match(await patch(address.replace(/[?].*/, `?link=${value}`), 0, bytes), { status: 401 });
  const other = (await begin(link.resumable, 5)).headers.get('location') ?? '';
  t.match(await patch(other.replace(/[?].*/, address.replace(/^[^?]*/, '')), 0, bytes), refused);
  // the link was made by the clock of the machine
  now.at = Date.now() + 602_000;
  t.match(await form(link.form, bytes), refused);
  t.match(await put(link.put, bytes), refused);
  t.match(await begin(link.resumable, 5), refused);
  t.equal((await patch(address, 0, bytes)).status, 204, 'what was begun in time goes on');
  t.equal(rows.size, 1);
});

t.test('a link takes so many bytes, and no more', async (t) => {
  const { make, form, put, begin, patch, rows, left, baseUrl } = await serveLinks(t);
  const link = await make({ expiresIn: 600, maxBytes: 50_000 });
  const tooLarge = { status: 413, code: 'payload_too_large' };
  const over = bytes.subarray(0, 50_001);
  t.match(await form(link.form, over), tooLarge);
  t.match(await put(link.put, over), tooLarge);
  t.match(await begin(link.resumable, 50_001), tooLarge);
  t.match(await begin(link.resumable, null, over), tooLarge);
  t.strictSame(await left(), []);
  const address = (await begin(link.resumable, null)).headers.get('location') ?? '';
  t.match(await patch(address, 0, over), tooLarge);
  t.match(await patch(address, 0, bytes.subarray(0, 1), { 'upload-length': '50001' }), tooLarge);
  t.equal((await patch(address, 0, bytes.subarray(0, 50_000), { 'upload-length': '50000' })).status, 204);
  t.match(await form(link.form, bytes.subarray(0, 50_000)), { status: 200 });
  t.strictSame(
    [...rows.values()].map(({ size }) => size),
    [50_000, 50_000],
  );
  // a body that never says how long it is
  const { hostname, port, pathname, search } = new URL(link.put.replace('{name}', 'a'));
  const socket = connect(Number(port), hostname);
  socket.write(
    `PUT ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  socket.write(`${over.byteLength.toString(16)}\r\n`);
  socket.write(over);
  const answered = await new Promise<string>((resolve) =>
    socket.once('data', (data) => resolve(data.toString())),
  );
  t.match(answered, /^HTTP\/1.1 413 /);
  socket.destroy();
  t.ok(baseUrl);
});

t.test('a link takes files of its type', async (t) => {
  const { make, form, put, begin, rows, left } = await serveLinks(t);
  for (const type of ['image/', 'image/png', 'IMAGE/PNG']) {
    const link = await make({ expiresIn: 600, type, times: 3 });
    t.match(await form(link.form, bytes, 'a.html'), refused);
    t.match(await put(link.put, bytes, 'a.html'), refused);
    t.match(await begin(link.resumable, 5, undefined, { 'upload-metadata': 'filename YS5odG1s' }), refused);
    t.match(await form(link.form, bytes), { status: 200 }, 'and what is refused is no use of it');
    t.match(await put(link.put, bytes), { status: 200 });
    t.match(await begin(link.resumable, 0), { status: 201, contentType: 'image/png' });
  }
  t.equal(rows.size, 9);
  t.strictSame(await left(), []);
});

t.test('a link that may be used once is used once', async (t) => {
  const { make, form, put, begin, rows, baseUrl, state, running } = await serveLinks(t);
  for (const use of [form, put] as const) {
    const link = await make({ expiresIn: 600, times: 1 });
    const address = use === form ? link.form : link.put;
    const answers = await Promise.all(Array.from({ length: 5 }, () => use(address, bytes)));
    t.strictSame(answers.map(({ status }) => status).sort(), [200, 403, 403, 403, 403]);
    t.match(await use(address, bytes), { ...refused, message: 'The link has been used' });
    t.match(await begin(link.resumable, 5), refused);
  }
  t.equal(rows.size, 2);
  const link = await make({ expiresIn: 600, times: 2 });
  t.equal((await begin(link.resumable, 5)).status, 201);
  state.failRows = true;
  t.equal((await form(link.form, bytes)).status, 500);
  state.failRows = false;
  await eventuallyEqual(t, () => running.open, 0);
  const broken = connect(Number(new URL(baseUrl).port), '127.0.0.1');
  const { pathname, search } = new URL(link.put.replace('{name}', 'a'));
  broken.write(`PUT ${pathname}${search} HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n`);
  broken.write(bytes.subarray(0, 10));
  await eventuallyEqual(t, () => running.open, 1);
  t.match(await put(link.put, bytes), refused);
  broken.destroy();
  await eventuallyEqual(t, async () => (await put(link.put, bytes)).status, 200);
  t.match(await put(link.put, bytes), refused);
});

t.test('bad wishes for a link, and links that take no partial uploads', async (t) => {
  const { make, tus } = await serveLinks(t);
  const bad = [
    ...[null, [], 1, {}, { expiresIn: 0 }, { expiresIn: 604_801 }, { expiresIn: 1.5 }, { expiresIn: '60' }],
    ...[{ maxBytes: -1 }, { maxBytes: null }, { type: 'image' }, { type: 5 }, { times: 0 }, { times: null }],
    ...[{ maxbytes: 5 }, { __proto__: null, owner: 'x' }],
  ];
  for (const [index, wishes] of bad.entries())
    t.match(
      await make(index < 8 ? wishes : { expiresIn: 60, ...(wishes as object) }),
      { status: 400, code: 'invalid_body' },
      JSON.stringify(wishes),
    );
  t.match(await make({ expiresIn: 60 }, {}), { status: 401 });
  t.match(await make({ expiresIn: 60 }, undefined, '_x'), { status: 400, code: 'invalid_slug' });
  const { resumable } = await make({ expiresIn: 60 });
  for (const concat of ['partial', 'final;/_f_/demo/resumable/x']) {
    const headers = { 'upload-concat': concat, 'upload-length': '5' };
    t.match(await tus(resumable, 'POST', headers), { status: 400, code: 'invalid_header' });
  }
});
