import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { createFileSystemStore } from '#objects/file-system/file-system-store.ts';
import { serveGatewayOn } from '../services/gateway-on-s3.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { untilEmpty } from '../services/until-empty.ts';
import { collect, patternBytes } from './object-store-contract.ts';

const never = new AbortController().signal;

async function setUp(t: Test) {
  const root = await temporaryFolder(t);
  const store = await createFileSystemStore({ root });
  const gateway = await serveGatewayOn(t, store, { maxUploadBytes: 3_000_000 });
  const put = (name: string, body: Uint8Array, headers: Record<string, string> = {}) =>
    fetch(`${gateway.baseUrl}/_f_/demo/${name}`, { method: 'PUT', body: Buffer.from(body), headers });
  const filesLeft = async (): Promise<string[]> =>
    (await readdir(root, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
  return { root, store, put, filesLeft, ...gateway };
}

t.test('a plain body is a file under the name of the address', async (t) => {
  const { put, rows, store } = await setUp(t);
  for (const size of [0, 1, 2_500_000]) {
    const bytes = patternBytes(size);
    const answer = await put(encodeURIComponent('Größe 1/2.png'), bytes);
    t.equal(answer.status, 200);
    const { name } = (await answer.json()) as { name: string };
    const file = rows.get(name);
    t.match(file, { originalName: 'Größe 1/2.png', contentType: 'image/png', size });
    t.ok((await collect(store.read(file?.objectKey ?? '', null, never))).equals(bytes));
  }
  t.equal((await put('a.png', patternBytes(1), { 'content-type': 'text/x-own' })).status, 200);
  t.strictSame([...rows.values()].map(({ contentType }) => contentType).slice(-1), ['text/x-own']);
});

t.test('curl -T, and curl --data-binary', async (t) => {
  const { baseUrl, root, rows } = await setUp(t);
  const file = join(root, 'photo.jpg');
  await writeFile(file, patternBytes(100_000));
  for (const args of [
    ['-T', file, `${baseUrl}/_f_/demo/`],
    ['-X', 'PUT', '--data-binary', `@${file}`, `${baseUrl}/_f_/demo/photo.jpg`],
  ]) {
    const { stdout } = await promisify(execFile)('curl', ['-sS', '--fail-with-body', ...args]);
    t.match(JSON.parse(stdout), { originalName: 'photo.jpg' });
  }
  for (const { contentType, size } of rows.values())
    t.match({ contentType, size }, { contentType: 'image/jpeg', size: 100_000 });
});

const digest = (algorithm: string, bytes: Uint8Array): string =>
  `sha-${algorithm}=:${createHash(`sha${algorithm}`).update(bytes).digest('base64')}:`;

t.test('digests of a body are checked, and those that nobody here knows are not', async (t) => {
  const { put, rows } = await setUp(t);
  const bytes = patternBytes(100_000);
  for (const name of ['content-digest', 'repr-digest']) {
    for (const right of [
      ...[digest('256', bytes), digest('512', bytes), `md5=:AAAA:, ${digest('256', bytes)}`, 'crc32c=:AAAA:'],
      `${digest('512', bytes)}, ${digest('256', bytes)}`,
    ])
      t.equal((await put('a', bytes, { [name]: right })).status, 200, right);
    for (const wrong of [
      digest('256', bytes.subarray(1)),
      `${digest('256', bytes)},${digest('512', Buffer.of(1))}`,
    ]) {
      const answer = await put('a', bytes, { [name]: wrong });
      t.match(await answer.json(), { code: 'checksum_mismatch', message: new RegExp(name, 'i') });
    }
    for (const broken of [
      ...['', 'sha-256', 'sha-256=AAAA', 'sha-256=:AAAA:', 'sha-256=:a*b:', 'SHA-256=:AAAA:', ','],
    ])
      t.match(
        await (await put('a', bytes, { [name]: broken })).json(),
        { code: 'invalid_multipart' },
        broken,
      );
  }
  t.equal(rows.size, 10);
});

t.test('digests of a form are of the whole form, and those of a part of its file', async (t) => {
  const { baseUrl, rows } = await setUp(t);
  const bytes = patternBytes(1000);
  const send = async (headers: Record<string, string>, partHeader = '') => {
    const head = `--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n${partHeader}\r\n`;
    const body = Buffer.concat([Buffer.from(head), bytes, Buffer.from('\r\n--b--\r\n')]);
    const sum = digest('256', body);
    const response = await fetch(`${baseUrl}/_f_/demo/upload`, {
      method: 'POST',
      headers: {
        'content-type': 'multipart/form-data; boundary=b',
        ...Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [name, value.replace('FORM', sum)]),
        ),
      },
      body,
    });
    return { status: response.status, ...((await response.json()) as { code?: string }) };
  };
  const mismatch = { status: 400, code: 'checksum_mismatch' };
  t.match(await send({ 'content-digest': 'FORM' }), { status: 200 });
  t.match(await send({ 'content-digest': digest('256', bytes) }), mismatch);
  t.match(await send({}, `Repr-Digest: ${digest('256', bytes)}\r\n`), { status: 200 });
  t.match(await send({}, `Content-Digest: ${digest('512', bytes.subarray(1))}\r\n`), mismatch);
  t.equal(rows.size, 2);
});

t.test('what is wrong gets a clear answer, and leaves nothing', async (t) => {
  const { put, rows, filesLeft, baseUrl } = await setUp(t);
  const bytes = patternBytes(10);
  const md5 = createHash('md5').update(bytes).digest('base64');
  for (const [what, answer, status, code] of [
    ['too long', put('a', patternBytes(3_000_001)), 413, 'payload_too_large'],
    ['another checksum', put('a', bytes.subarray(1), { 'content-md5': md5 }), 400, 'checksum_mismatch'],
    [
      'a form',
      put('a', bytes, { 'content-type': 'multipart/form-data; boundary=B' }),
      400,
      'wrong_content_type',
    ],
    ['a part', put('a', bytes, { 'content-range': 'bytes 0-9/20' }), 400, 'chunks_unsupported'],
    ['a NUL in the name', put('a%00', bytes), 400, 'invalid_multipart'],
    ['a name that is too long', put('x'.repeat(1001), bytes), 400, 'invalid_multipart'],
    ['the address of forms', put('upload', bytes), 405, 'method_not_allowed'],
  ] as const) {
    const response = await answer;
    t.match({ status: response.status, ...((await response.json()) as object) }, { status, code }, what);
  }
  const part = await put('a', bytes, { 'content-range': 'bytes 0-9/20' });
  t.match(await part.json(), { message: /^This request holds a chunk.*tus.*resumable/ });
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  socket.write(`PUT /_f_/demo/a HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: 2000000\r\n\r\n`);
  await new Promise<void>((resolve) => socket.write(patternBytes(1_500_000), () => resolve()));
  socket.destroy();
  t.strictSame(await untilEmpty(filesLeft), []);
  t.equal(rows.size, 0);
});

const copyName = '6f1f6b0e-5c1d-4e0e-9a44-0f8a3c1b7d21_Gr-e.png';
const copyOf = { originalName: 'a/Größe?&=.png', createdAt: '2024-02-29T12:30:00.123Z' };
const granted = { 'test-grants': JSON.stringify({ may: ['files:write', 'backup'] }) };
const addressOf = (copy: Record<string, string>, name = copyName) => `${name}?${new URLSearchParams(copy)}`;

t.test('a copy keeps its name, its original name and its time, however often it comes', async (t) => {
  const { put: plainPut, rows, baseUrl, cloudFiles } = await setUp(t);
  const put: typeof plainPut = (name, body, headers = {}) => plainPut(name, body, { ...granted, ...headers });
  t.equal((await plainPut(addressOf(copyOf), patternBytes(1))).status, 403, 'not by a token for everything');
  const [bytes, type] = [patternBytes(70_000), { 'content-type': 'multipart/x-kept' }];
  for (const replayed of [null, 'true']) {
    const answer = await put(addressOf(copyOf), bytes, type);
    t.equal(answer.headers.get('idempotent-replayed'), replayed);
    t.match(await answer.json(), {
      _id: copyName.slice(0, 36),
      name: copyName,
      ...copyOf,
      updatedAt: copyOf.createdAt,
      contentType: 'multipart/x-kept',
      size: 70_000,
    });
  }
  t.equal(rows.size, 1);
  const other = await put(addressOf(copyOf), bytes.subarray(1), type);
  t.match([other.status, await other.json()], [409, { code: 'upload_conflict' }]);
  const stranger = await put(addressOf(copyOf), bytes, { ...type, 'test-owner': 'somebody else' });
  t.match([stranger.status, await stranger.json()], [409, { code: 'upload_conflict' }]);
  const both = await Promise.all([1, 2].map(() => put(addressOf(copyOf, copyName.replace('6', '7')), bytes)));
  t.ok(both.every(({ status }) => status === 200 || status === 409));
  t.equal(rows.size, 2, 'one file by two requests at once');
  const served = await fetch(`${baseUrl}/_f_/demo/${copyName}`);
  t.ok(Buffer.from(await served.arrayBuffer()).equals(bytes));
  t.ok(await cloudFiles.findByName(copyName, never));
});

t.test('a copy needs all that it is to keep', async (t) => {
  const { put: plainPut, rows } = await setUp(t);
  const put: typeof plainPut = (name, body, headers = {}) => plainPut(name, body, { ...granted, ...headers });
  for (const [address, message] of [
    [addressOf({ originalName: 'a' }), /createdAt should be a time in the past/],
    [addressOf({ createdAt: copyOf.createdAt }), /originalName is missing/],
    [addressOf({ ...copyOf, createdAt: '2999-01-01T00:00:00.000Z' }), /createdAt/],
    [addressOf({ ...copyOf, createdAt: 'today' }), /createdAt/],
    [addressOf(copyOf, 'photo.png'), /photo.png.*is not a name that a gateway gave/],
    [addressOf({ ...copyOf, originalName: '' }), /The file has no name/],
  ] as const) {
    const answer = await put(address, patternBytes(1));
    t.equal(answer.status, 400);
    t.match(await answer.json(), { message });
  }
  t.equal(rows.size, 0);
});

t.test('preconditions of uploads, downloads and deletions', async (t) => {
  const { put, rows, baseUrl } = await setUp(t);
  const first = (await (await put('a.txt', patternBytes(5))).json()) as { name: string };
  const send = (method: string, headers: Record<string, string>) =>
    fetch(`${baseUrl}/_f_/demo/${first.name}`, { method, headers });
  const etag = (await send('HEAD', {})).headers.get('etag') ?? '';
  for (const method of ['GET', 'HEAD']) {
    t.equal(
      (await send(method, { 'if-match': etag, range: 'bytes=1-2' })).status,
      method === 'GET' ? 206 : 200,
    );
    const refused = await send(method, { 'if-match': '"another"', range: 'bytes=1-2' });
    t.equal(refused.status, 412);
    if (method === 'GET') t.match(await refused.json(), { code: 'precondition_failed' });
    t.equal((await send(method, { 'if-unmodified-since': 'Sun, 06 Nov 1994 08:49:37 GMT' })).status, 412);
    t.equal((await send(method, { 'if-match': etag, 'if-none-match': etag })).status, 304);
  }
  t.equal((await put('b.txt', patternBytes(5), { 'if-none-match': '*' })).status, 200, 'only if new');
  t.equal((await put(first.name, patternBytes(5), { 'if-none-match': '*' })).status, 412);
  t.equal((await put('c.txt', patternBytes(5), { 'if-match': '*' })).status, 412, 'there is none');
  t.equal(rows.size, 2);
  t.equal((await send('DELETE', { 'if-match': '"another"' })).status, 412);
  t.equal((await send('DELETE', { 'if-match': etag })).status, 204);
  t.equal(rows.size, 1);
});
