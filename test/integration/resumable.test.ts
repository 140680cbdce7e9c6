import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import t from 'tap';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { resumableUploadsOn } from '../services/resumable-uploads.ts';
import { stubPartBytes } from '../services/stub-store.ts';
import { testJanitor } from '../services/test-janitor.ts';
import { full } from '../services/test-size.ts';
import { chunkType, serveTus, tusStores } from '../services/tus-gateway.ts';
import { patternBytes } from './object-store-contract.ts';

const never = new AbortController().signal;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A request whose client goes away in the middle of its body, as soon as something was taken of it. */
async function breakOff(baseUrl: string, path: string, offset: number, bytes: Uint8Array, more: number) {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  const head = [
    `PATCH ${path} HTTP/1.1`,
    `Host: ${hostname}`,
    'Tus-Resumable: 1.0.0',
    `Upload-Offset: ${offset}`,
    `Content-Type: ${chunkType}`,
    `Content-Length: ${bytes.byteLength + more}`,
  ];
  const request = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes]);
  await new Promise<void>((resolve) => socket.write(request, () => resolve()));
  return socket;
}

for (const [name, openStore] of Object.entries(tusStores).slice(full ? 0 : 1)) {
  t.test(`${name}: an upload in chunks of any size becomes a file`, async (t) => {
    for (const sizes of [
      [300_000],
      [1, 65_535, 65_536, 100_000],
      [stubPartBytes, 2 * stubPartBytes, 7],
      [5, 5, 5],
    ]) {
      const { begin, patch, ask, rows, stored, left } = await serveTus(t, await openStore(t));
      const bytes = patternBytes(sizes.reduce((sum, size) => sum + size, 0));
      const metadata = `filename ${base64('Größe 1.png')},filetype ${base64('image/png')},empty`;
      const begun = await begin(bytes.byteLength, { 'upload-metadata': metadata });
      t.equal(begun.status, 201);
      t.equal(begun.headers.get('tus-resumable'), '1.0.0');
      let at = 0;
      for (const size of sizes) {
        const head = await ask(begun.path);
        t.match(head, { status: 200, offset: `${at}` });
        t.equal(head.headers.get('upload-length'), `${bytes.byteLength}`);
        t.equal(head.headers.get('upload-metadata'), metadata);
        t.equal(head.headers.get('cache-control'), 'no-store');
        if (at > 0) t.equal((await ask(begun.path, { method: 'GET' })).status, 404, 'it is no file yet');
        const answer = await patch(begun.path, at, bytes.subarray(at, at + size));
        at += size;
        t.match(answer, { status: 204, offset: `${at}`, text: '' });
        if (at === bytes.byteLength) {
          t.equal(answer.headers.get('upload-complete'), '?1');
          const whole = await ask(begun.path, { method: 'GET' });
          t.match(JSON.parse(whole.text), { originalName: 'Größe 1.png' });
        } else t.ok(Date.parse(answer.headers.get('upload-expires') as string) > Date.now());
      }
      const last = await ask(begun.path);
      t.match(last, { status: 200, offset: `${at}` });
      t.equal(last.headers.get('upload-length'), `${bytes.byteLength}`);
      t.equal(last.headers.get('upload-metadata'), metadata.replace(',empty', ''));
      const [file, ...others] = rows.values();
      t.strictSame(others, []);
      t.match(file, { size: bytes.byteLength, contentType: 'image/png', originalName: 'Größe 1.png' });
      const { crc32 } = await import('node:zlib');
      t.equal(file?.crc32, crc32(bytes));
      t.ok((await stored())[0]?.equals(bytes));
      await eventuallyEqual(t, left, []);
    }
  });

  t.test(`${name}: the answer to the last bytes is the file for clients that say so`, async (t) => {
    const { begin, patch, ask } = await serveTus(t, await openStore(t));
    for (const [headers, isFile] of [
      [{ prefer: 'respond-async, return=representation' }, true],
      [{ accept: 'application/json' }, true],
      [{ accept: 'application/problem+json, */*' }, false],
      [{ prefer: 'return=minimal' }, false],
    ] as const) {
      const { path } = await begin(5);
      t.match(await patch(path, 0, new Uint8Array(2), headers), { status: 204, text: '' });
      const last = await patch(path, 2, new Uint8Array(3), headers);
      t.match(last, { status: isFile ? 200 : 204, offset: '5' });
      const { text } = await ask(path, { method: 'GET' });
      t.equal(last.text, isFile ? text : '');
    }
  });

  t.test(`${name}: creation with all bytes, with some, with none, and of an empty file`, async (t) => {
    const { begin, patch, stored, rows } = await serveTus(t, await openStore(t));
    const bytes = patternBytes(200_000);
    const whole = await begin(bytes.byteLength, {}, bytes);
    t.match(whole, { status: 201, offset: `${bytes.byteLength}` });
    t.match(JSON.parse(whole.text), { originalName: 'file' });
    const some = await begin(bytes.byteLength, {}, bytes.subarray(0, 99));
    t.match(some, { status: 201, offset: '99', text: '' });
    t.equal((await patch(some.path, 99, bytes.subarray(99))).status, 204);
    const empty = await begin(0);
    t.match(JSON.parse(empty.text), { originalName: 'file' });
    t.strictSame([...rows.values()].map(({ size }) => size).sort(), [0, 200_000, 200_000]);
    t.strictSame(
      (await stored()).map((one) => one.equals(bytes.subarray(0, one.byteLength))),
      [true, true, true],
    );
  });

  t.test(`${name}: the length may come with any chunk, and never changes`, async (t) => {
    const { begin, patch, ask, rows } = await serveTus(t, await openStore(t));
    const bytes = patternBytes(100_000);
    const { path } = await begin(null);
    t.equal((await ask(path)).headers.get('upload-defer-length'), '1');
    t.equal((await patch(path, 0, bytes.subarray(0, 10))).status, 204);
    t.equal((await patch(path, 10, new Uint8Array(1), { 'upload-length': '9' })).status, 409);
    t.equal((await patch(path, 10, bytes.subarray(10, 20), { 'upload-length': '100000' })).status, 204);
    t.equal((await ask(path)).headers.get('upload-length'), '100000');
    t.equal((await patch(path, 20, bytes.subarray(20), { 'upload-length': '100001' })).status, 409);
    t.equal((await patch(path, 20, bytes.subarray(20))).status, 204);
    t.equal(rows.size, 1);
  });

  t.test(`${name}: the last request brings the length, and no bytes`, async (t) => {
    for (const size of [stubPartBytes, 70_000, 5, 0]) {
      const { begin, patch, rows, stored } = await serveTus(t, await openStore(t));
      const bytes = patternBytes(size);
      const { path } = await begin(null);
      if (size > 0) t.equal((await patch(path, 0, bytes)).status, 204);
      t.equal((await patch(path, size, new Uint8Array(), { 'upload-length': `${size}` })).status, 204);
      t.equal(rows.size, 1);
      t.ok((await stored())[0]?.equals(bytes));
    }
  });

  t.test(`${name}: a chunk with a wrong checksum does not count, one with a right one does`, async (t) => {
    const { begin, patch, ask, stored } = await serveTus(t, await openStore(t));
    const bytes = patternBytes(200_000);
    const digest = (algorithm: string, of: Uint8Array) =>
      `${algorithm} ${createHash(algorithm).update(of).digest('base64')}`;
    const { path } = await begin(bytes.byteLength);
    const first = bytes.subarray(0, 150_000);
    const wrong = Buffer.alloc(first.byteLength);
    for (const algorithm of ['sha1', 'sha256']) {
      const answer = await patch(path, 0, wrong, { 'upload-checksum': digest(algorithm, first) });
      t.match(answer, { status: 460, text: /chunk_checksum_mismatch/ });
      t.match(await ask(path), { offset: '0' });
    }
    t.equal((await patch(path, 0, first, { 'upload-checksum': digest('sha1', first) })).status, 204);
    const last = bytes.subarray(150_000);
    t.equal(
      (await patch(path, 150_000, wrong.subarray(0, 50_000), { 'upload-checksum': 'crc32 AAAAAA==' })).status,
      460,
    );
    const sha256 = createHash('sha256').update(last).digest('base64');
    const wrongDigest = {
      'content-digest': `sha-256=:${sha256.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))}:`,
    };
    t.match(await patch(path, 150_000, last, wrongDigest), { status: 400, text: /checksum_mismatch/ });
    t.match(await ask(path), { offset: '150000' });
    const both = { 'upload-checksum': digest('sha256', last), 'content-digest': `sha-256=:${sha256}:` };
    t.equal((await patch(path, 150_000, last, both)).status, 204);
    t.ok((await stored())[0]?.equals(bytes));
  });

  t.test(`${name}: a chunk that breaks off counts as far as it came`, async (t) => {
    const { begin, patch, ask, stored, baseUrl, resumable, memory } = await serveTus(t, await openStore(t));
    const bytes = patternBytes(400_000);
    const { path } = await begin(bytes.byteLength);
    let at = 0;
    for (const size of [10, 70_000, 150_000]) {
      const socket = await breakOff(baseUrl, path, at, bytes.subarray(at, at + size), 1000);
      await eventuallyEqual(t, () => memory.used > 0, true, 'it is under way');
      // what is sent comes before the end of the connection
      socket.destroy();
      await eventuallyEqual(t, () => memory.used, 0, 'it is over');
      await resumable.close(5000);
      at += size;
      t.equal((await ask(path)).offset, `${at}`);
    }
    t.equal((await patch(path, at, bytes.subarray(at))).status, 204);
    t.ok((await stored())[0]?.equals(bytes));
  });

  t.test(`${name}: the newest request goes on, and the one before ends with what it brought`, async (t) => {
    const { begin, patch, ask, stored, baseUrl, memory } = await serveTus(t, await openStore(t));
    const bytes = patternBytes(300_000);
    const { path } = await begin(bytes.byteLength);
    const socket = await breakOff(baseUrl, path, 0, bytes.subarray(0, 100_000), 100_000);
    const answered = new Promise<string>((resolve) =>
      socket.once('data', (data) => resolve(data.toString())),
    );
    await eventuallyEqual(t, () => memory.used > 0, true, 'it is under way');
    const offset = Number((await ask(path)).offset);
    t.ok(offset <= 100_000, `${offset} bytes came`);
    t.match(await answered, /^HTTP\/1.1 409 /);
    socket.destroy();
    t.equal((await patch(path, offset, bytes.subarray(offset))).status, 204);
    t.ok((await stored())[0]?.equals(bytes));
  });

  t.test(`${name}: of two chunks at once one counts`, async (t) => {
    for (let i = 0; i < 5; i++) {
      const { begin, patch, ask, stored } = await serveTus(t, await openStore(t));
      const bytes = patternBytes(200_000);
      const { path } = await begin(bytes.byteLength);
      const answers = await Promise.all([0, 1, 2].map(() => patch(path, 0, bytes.subarray(0, 100_000))));
      for (const { status } of answers) t.ok([204, 409].includes(status), `${status}`);
      const offset = Number((await ask(path)).offset);
      const [most] = answers.map(({ status }) => (status === 204 ? 100_000 : 1)).sort((a, b) => b - a);
      t.ok(offset >= (most ?? 0), `${offset} bytes count, although all but the newest had to end`);
      t.equal((await patch(path, offset, bytes.subarray(offset))).status, 204);
      t.ok((await stored())[0]?.equals(bytes));
    }
  });

  t.test(`${name}: a client that can only POST names its method in a header`, async (t) => {
    const { begin, ask, rows, stored, left } = await serveTus(t, await openStore(t));
    const bytes = patternBytes(100_000);
    const post = (path: string, method: string, headers: Record<string, string> = {}, body?: Uint8Array) =>
      ask(path, {
        method: 'POST',
        headers: { 'x-http-method-override': method, 'content-type': chunkType, ...headers },
        ...(body && { body }),
      });
    const { path } = await begin(bytes.byteLength);
    const first = bytes.subarray(0, 70_000);
    t.match(await post(path, 'Patch', { 'upload-offset': '0' }, first), { status: 204, offset: '70000' });
    t.match(await post(path, 'HEAD'), { status: 200, offset: '70000', text: '' });
    for (const method of ['', 'PUT', 'PATCHES', 'constructor'])
      t.match(await post(path, method), { status: 400, text: /invalid_header.*X-HTTP-Method-Override/ });
    t.equal((await post(path, 'DELETE', { 'tus-resumable': '0.2.2' })).status, 412);
    const last = await post(path, 'PATCH', { 'upload-offset': '70000' }, bytes.subarray(70_000));
    t.match(last, { status: 204, offset: '100000' });
    t.ok((await stored())[0]?.equals(bytes));
    const { path: dropped } = await begin(10);
    t.equal((await post(dropped, 'DELETE')).status, 204);
    t.equal((await ask(dropped)).status, 404);
    t.equal(rows.size, 1);
    await eventuallyEqual(t, left, []);
  });

  t.test(`${name}: what is wrong gets a clear answer, and changes nothing`, async (t) => {
    const { begin, patch, ask, rows, left } = await serveTus(t, await openStore(t));
    const other = { 'test-owner': '1b9e2f4e-6a57-4f8a-9d0c-1f2e3d4c5b6b' };
    const refused: [
      what: string,
      answer: Promise<{ status: number; text: string }>,
      status: number,
      code: string,
    ][] = [
      [
        'no version',
        ask('/_f_/demo/resumable', { method: 'POST', headers: { 'tus-resumable': '0.2.2' } }),
        412,
        'unsupported_version',
      ],
      ['no length', ask('/_f_/demo/resumable', { method: 'POST' }), 400, 'invalid_header'],
      ['two lengths', begin(10, { 'upload-defer-length': '1' }), 400, 'invalid_header'],
      ['a negative length', begin(-1), 400, 'invalid_header'],
      ['too long', begin(1_000_001), 413, 'payload_too_large'],
      ['much too long', begin(1e15), 413, 'payload_too_large'],
      [
        'metadata that are not base64',
        begin(10, { 'upload-metadata': 'filename a*b' }),
        400,
        'invalid_header',
      ],
      [
        'metadata that are not UTF-8',
        begin(10, { 'upload-metadata': 'filename /w==' }),
        400,
        'invalid_header',
      ],
      ['metadata twice', begin(10, { 'upload-metadata': 'a,a' }), 400, 'invalid_header'],
      ['metadata without a name', begin(10, { 'upload-metadata': 'a,,b' }), 400, 'invalid_header'],
      [
        'a name with a NUL',
        begin(10, { 'upload-metadata': `filename ${base64('a\0b')}` }),
        400,
        'invalid_multipart',
      ],
      ['a body longer than the length', begin(1, {}, new Uint8Array(2)), 413, 'payload_too_large'],
      [
        'a body longer than any length',
        begin(null, {}, new Uint8Array(1_000_001)),
        413,
        'size limit of 1000000 bytes',
      ],
      [
        'another checksum',
        begin(2, { 'upload-checksum': 'md5 AAAA' }, new Uint8Array(2)),
        400,
        'invalid_header',
      ],
      [
        'a bad project',
        ask('/_f_/_x/resumable', { method: 'POST', headers: { 'upload-length': '1' } }),
        400,
        'invalid_slug',
      ],
      ['no such upload', patch('/_f_/demo/resumable/x', 0, new Uint8Array(1)), 404, 'not_found'],
    ];
    for (const [what, answer, status, code] of refused)
      t.match(await answer, { status, text: new RegExp(code) }, what);
    t.strictSame(await left(), []);

    const { path } = await begin(10);
    const chunk = new Uint8Array(5);
    const later: [what: string, answer: () => Promise<{ status: number }>, status: number][] = [
      ['another offset', () => patch(path, 1, chunk), 409],
      ['an offset that is none', () => patch(path, 0, chunk, { 'upload-offset': 'x' }), 400],
      ['beyond the length', () => patch(path, 0, new Uint8Array(11)), 413],
      ['another content type', () => patch(path, 0, chunk, { 'content-type': 'text/plain' }), 415],
      ['a checksum that is none', () => patch(path, 0, chunk, { 'upload-checksum': 'sha1 AAAA' }), 400],
      ['of another account', () => patch(path, 0, chunk, other), 404],
      ['a look of another account', () => ask(path, { headers: other }), 404],
      ['dropped by another account', () => ask(path, { method: 'DELETE', headers: other }), 404],
      ['another project', () => ask(path.replace('demo', 'other')), 404],
    ];
    for (const [what, answer, status] of later) {
      t.equal((await answer()).status, status, what);
      t.match(await ask(path), { status: 200, offset: '0' }, what);
    }
    t.equal((await ask(path, { method: 'DELETE' })).status, 204);
    t.equal((await ask(path)).status, 404);
    t.equal(rows.size, 0);
    t.strictSame(await left(), []);
  });

  t.test(`${name}: an upload that is dropped, or expires, leaves nothing`, async (t) => {
    const store = await openStore(t);
    const { begin, patch, ask, left, resumable, cloudFiles, memory } = await serveTus(t, store, {
      expireAfter: 3_600_000,
    });
    const bytes = patternBytes(200_000);
    const { path } = await begin(300_000, {}, bytes);
    t.equal((await ask(path, { method: 'DELETE' })).status, 204);
    await eventuallyEqual(t, left, []);
    const second = await begin(300_000, {}, bytes);
    const janitorOf = (uploads: typeof resumable, staleAfter: number) =>
      testJanitor({ store, cloudFiles, resumable: uploads, staleAfter, grace: 1e9 });
    await janitorOf(resumable, 0).run({ dryRun: false });
    t.match(await ask(second.path), { status: 200, offset: '200000' }, 'a run beside it takes nothing');
    const over = resumableUploadsOn({ store, cloudFiles, memory, expireAfter: -1000 });
    const whose = {
      ownerId: '0b9e2f4e-6a57-4f8a-9d0c-1f2e3d4c5b6a',
      projectSlug: 'demo',
      name: second.path.split('/').at(-1) ?? '',
    };
    await t.rejects(over.find(whose, never), { code: 'upload_expired' });
    const report = await janitorOf(over, 0).run({ dryRun: false });
    t.match(report, { uploadsExpired: 1, failures: 0 });
    await janitorOf(over, 0).run({ dryRun: false });
    t.strictSame(await left(), []);
    t.equal((await patch(second.path, 200_000, bytes)).status, 404);
  });

  t.test(`${name}: a file that was the last one that fits leaves none of another`, async (t) => {
    const limits = { files: 1, bytes: 0 };
    const { begin, patch, rows, left } = await serveTus(t, await openStore(t), { limits });
    const bytes = patternBytes(100_000);
    const [a, b] = [await begin(bytes.byteLength), await begin(bytes.byteLength)];
    t.equal((await patch(a.path, 0, bytes)).status, 204);
    t.match(await patch(b.path, 0, bytes), { status: 403, text: /quota_exceeded/ });
    t.equal(rows.size, 1);
    t.equal((await begin(1)).status, 403);
    await eventuallyEqual(t, left, []);
  });

  t.test(`${name}: bytes of uploads that are not complete count to the quota, and once`, async (t) => {
    const store = await openStore(t);
    const limits = { files: 0, bytes: 250_000 };
    const { begin, patch, ask, rows } = await serveTus(t, store, { limits });
    const bytes = patternBytes(200_000);
    const a = await begin(200_000, {}, bytes.subarray(0, 150_000));
    const refused = { status: 403, text: /quota_exceeded/ };
    t.match(await begin(100_001), refused);
    const other = await serveTus(t, store, { limits });
    t.match(await other.begin(100_001), refused, 'another gateway finds them in the store');
    const [b, c] = [await begin(100_000), await begin(60_000)];
    t.equal((await patch(a.path, 150_000, bytes.subarray(150_000))).status, 204);
    t.equal(rows.size, 1, 'more than half of the quota becomes a file');
    t.match(await begin(50_001), refused);
    t.match(await patch(b.path, 0, bytes.subarray(0, 60_000)), refused);
    t.match(await ask(b.path), { offset: '0' });
    t.equal((await patch(b.path, 0, bytes.subarray(0, 40_000))).status, 204);
    t.match(await patch(c.path, 0, bytes.subarray(0, 10_001)), refused);
    t.equal((await ask(b.path, { method: 'DELETE' })).status, 204);
    t.equal(
      (await patch(c.path, 0, bytes.subarray(0, 40_000))).status,
      204,
      'what is dropped counts no more',
    );
    t.match(await patch(c.path, 40_000, bytes.subarray(0, 20_000)), refused);
    t.equal((await ask(c.path, { method: 'DELETE' })).status, 204);
  });

  t.test(`${name}: a body that never says how long it is ends at the quota`, async (t) => {
    const limits = { files: 0, bytes: 1_000_000 };
    const { begin, ask, baseUrl, memory } = await serveTus(t, await openStore(t), {
      limits,
      maxUploadBytes: 90_000_000,
    });
    const { path } = await begin(null);
    const { hostname, port } = new URL(baseUrl);
    const socket = connect(Number(port), hostname);
    const answered = new Promise<string>((resolve) =>
      socket.once('data', (data) => resolve(data.toString())),
    );
    const head = `PATCH ${path} HTTP/1.1\r\nHost: a\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n`;
    socket.write(`${head}Content-Type: ${chunkType}\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const chunk = Buffer.concat([Buffer.from('186a0\r\n'), patternBytes(100_000), Buffer.from('\r\n')]);
    const sending = setInterval(() => socket.write(chunk), 10);
    t.match(await answered, /^HTTP\/1.1 403 [\s\S]*quota_exceeded/);
    clearInterval(sending);
    socket.destroy();
    await eventuallyEqual(t, () => memory.used, 0);
    const offset = Number((await ask(path)).offset);
    t.ok(offset > 1_000_000 && offset < 80_000_000, `${offset} bytes are stored`);
    t.match(await begin(1), { status: 403, text: /quota_exceeded/ });
    t.equal((await ask(path, { method: 'DELETE' })).status, 204);
    t.equal((await begin(1)).status, 201);
  });

  t.test(`${name}: an account may have so many uploads that are not complete, and no more`, async (t) => {
    const store = await openStore(t);
    const { begin, patch, ask } = await serveTus(t, store, { maxOpenUploads: 2 });
    const refused = { status: 403, text: /too_many_uploads.*2 incomplete uploads.*MAX_OPEN_UPLOADS/ };
    const [a, b] = [await begin(10), await begin(10)];
    t.match(await begin(10), refused);
    const { begin: beginElsewhere } = await serveTus(t, store, { maxOpenUploads: 2 });
    t.match(await beginElsewhere(10), refused, 'another gateway counts those in the store');
    t.equal((await begin(10, { 'test-owner': '1b9e2f4e-6a57-4f8a-9d0c-1f2e3d4c5b6b' })).status, 201);
    t.equal((await patch(a.path, 0, new Uint8Array(10))).status, 204);
    t.equal((await begin(10, {}, new Uint8Array(10))).status, 201, 'one that is complete counts no more');
    t.equal((await begin(10)).status, 201);
    t.match(await begin(10), refused);
    t.equal((await ask(b.path, { method: 'DELETE' })).status, 204);
    t.equal((await begin(10)).status, 201);
  });
}

t.test('OPTIONS says what is spoken, and pages of other origins may read it', async (t) => {
  const { baseUrl } = await serveTus(t, await tusStores['file system'](t));
  const answer = await fetch(`${baseUrl}/_f_/demo/resumable`, { method: 'OPTIONS' });
  t.equal(answer.status, 204);
  t.equal(answer.headers.get('tus-version'), '1.0.0');
  t.equal(answer.headers.get('tus-max-size'), '1000000');
  t.match(answer.headers.get('tus-extension'), /creation,.*termination/);
  for (const path of ['/_f_/demo/resumable', '/_f_/demo/resumable/x']) {
    const refused = await fetch(baseUrl + path, { method: 'PUT' });
    t.equal(refused.status, 405);
    t.equal(refused.headers.get('tus-resumable'), '1.0.0');
  }
  const preflight = await fetch(`${baseUrl}/_f_/demo/resumable/x`, {
    method: 'OPTIONS',
    headers: {
      origin: 'https://app.example.com',
      'access-control-request-method': 'PATCH',
      'access-control-request-headers': 'authorization,tus-resumable,upload-offset,content-type',
    },
  });
  t.match(preflight.headers.get('access-control-allow-methods'), /PATCH/);
  t.match(preflight.headers.get('access-control-allow-headers'), /upload-offset/);
  t.match(preflight.headers.get('access-control-expose-headers'), /upload-offset.*tus-resumable/);
});
