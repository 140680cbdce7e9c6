import { execFile } from 'node:child_process';
import { createHash, randomBytes, randomFillSync } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import type { Test } from 'tap';
import { connectRaw } from '../services/raw-http.ts';
import type { Sluice } from '../services/start-sluice.ts';
import { untilEmpty } from '../services/until-empty.ts';

const run = promisify(execFile);
interface CloudFile {
  _id: string;
  name: string;
  originalName: string;
  ownedBy: string;
  s3Link: string;
  createdAt: string;
  updatedAt: string;
}

/** What the suite needs to know of the store behind a server. */
export interface UploadSuiteArgs {
  readonly sluice: Sluice;
  /** A folder that the suite may use. */
  readonly folder: string;
  /** Whatever an upload of a file with this in its name left, finished or not. */
  readonly leftovers: (name: string) => Promise<string[]>;
  /** Bytes that a file may have there; absent: the default of MAX_UPLOAD_BYTES. */
  readonly mostBytes?: number;
}

/** Uploads and downloads, over HTTP only, whatever the store is. */
export async function uploadSuite(t: Test, what: UploadSuiteArgs): Promise<void> {
  const { sluice, folder, mostBytes = 100_000_000 } = what;
  const address = ({ name }: { name: string }): string => `${sluice.baseUrl}/_f_/media/${name}`;
  const uploadUrl = `${sluice.baseUrl}/_f_/media/upload`;
  const bearer = { authorization: `Bearer ${sluice.token}` };

  function form(content: string | Uint8Array, name = 'photo.jpg', type = 'image/jpeg'): FormData {
    const data = new FormData();
    data.set('file', new Blob([content], { type }), name);
    return data;
  }

  async function upload(data: FormData, headers: Record<string, string> = bearer): Promise<Response> {
    return fetch(uploadUrl, { method: 'POST', headers, body: data });
  }

  /** A whole request, as it goes over the wire. */
  function rawUpload(name: string, content: string): string {
    const body = `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n${content}\r\n--b--\r\n`;
    const head = [
      'POST /_f_/media/upload HTTP/1.1',
      'Host: sluice',
      `Authorization: ${bearer.authorization}`,
      'Content-Type: multipart/form-data; boundary=b',
      `Content-Length: ${body.length}`,
    ];
    return `${head.join('\r\n')}\r\n\r\n${body}`;
  }

  async function code(response: Response): Promise<[number, string]> {
    const body = (await response.json()) as { code: string; statusCode: number; error: string[] };
    t.equal(body.statusCode, response.status);
    t.ok(Array.isArray(body.error) && body.error.length > 0);
    return [response.status, body.code];
  }

  async function sha256(path: string): Promise<string> {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
    return hash.digest('hex');
  }

  t.test('an upload answers the seven fields of a CloudFile, its size and its type', async (t) => {
    const response = await upload(form('hello'));
    t.equal(response.status, 200);
    t.match(response.headers.get('content-type'), /^application\/json/);
    const file = (await response.json()) as CloudFile;
    t.strictSame(
      Object.keys(file).sort(),
      '_id contentType createdAt name originalName ownedBy s3Link size updatedAt'.split(' '),
    );
    t.match(file, { size: 5, contentType: 'image/jpeg' });
    t.match(file._id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    t.equal(file.originalName, 'photo.jpg');
    t.match(file.name, /^[0-9a-f-]{36}_photo\.jpg$/);
    t.equal(new Date(file.createdAt).toISOString(), file.createdAt);
    t.equal(new Date(file.updatedAt).toISOString(), file.updatedAt);
    t.equal(file.s3Link, address(file));
    const stored = await fetch(file.s3Link);
    t.equal(await stored.text(), 'hello');
    t.equal(stored.headers.get('content-type'), 'image/jpeg');
    t.equal(stored.headers.get('x-content-type-options'), 'nosniff');
  });

  t.test('a file at the limit comes back byte for byte, by curl', async (t) => {
    const path = join(folder, 'big.bin');
    const bytes = randomFillSync(Buffer.alloc(mostBytes));
    await writeFile(path, bytes);
    const { stdout } = await run('curl', [
      '-sf',
      '-H',
      `Authorization: Bearer ${sluice.token}`,
      '-F',
      `file=@${path}`,
      uploadUrl,
    ]);
    const file = JSON.parse(stdout) as CloudFile;
    const copy = join(folder, 'copy.bin');
    await run('curl', ['-sf', '-o', copy, address(file)]);
    t.equal(await sha256(copy), await sha256(path));

    const range = await fetch(address(file), { headers: { range: `bytes=${mostBytes - 10}-` } });
    t.equal(range.status, 206);
    t.equal(range.headers.get('content-range'), `bytes ${mostBytes - 10}-${mostBytes - 1}/${mostBytes}`);
    t.ok(Buffer.from(await range.arrayBuffer()).equals(bytes.subarray(-10)));
  });

  t.test('one byte over the limit is 413, for curl and for fetch', async (t) => {
    const path = join(folder, 'over.bin');
    const bytes = Buffer.alloc(mostBytes + 1);
    await writeFile(path, '');
    await truncate(path, bytes.byteLength);
    const args = ['-s', '-w', '\n%{http_code}', '-H', `Authorization: Bearer ${sluice.token}`];
    const { stdout } = await run('curl', [...args, '-F', `file=@${path}`, uploadUrl]);
    const [body = '', status] = stdout.split('\n');
    t.equal(status, '413');
    t.match(JSON.parse(body), { code: 'payload_too_large', statusCode: 413, path: '/_f_/media/upload' });
    t.strictSame(await code(await upload(form(bytes))), [413, 'payload_too_large']);
  });

  t.test('far over the limit is 413 as well, by Content-Length and by count', async (t) => {
    const path = join(folder, 'far.bin');
    await writeFile(path, '');
    await truncate(path, 3 * mostBytes);
    const args = ['-s', '-w', '\n%{http_code}', '-H', `Authorization: Bearer ${sluice.token}`];
    for (const extra of [[], ['-H', 'Expect:'], ['-H', 'Transfer-Encoding: chunked']]) {
      const { stdout } = await run('curl', [...args, ...extra, '-F', `file=@${path}`, uploadUrl]);
      t.equal(stdout.split('\n').at(-1), '413', extra.join(' '));
    }
    const boundary = 'x';
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="endless"\r\n\r\n`;
    const endless = new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from(head));
      },
      pull(controller) {
        controller.enqueue(Buffer.alloc(262144));
      },
    });
    const response = await fetch(uploadUrl, {
      method: 'POST',
      headers: { ...bearer, 'content-type': `multipart/form-data; boundary=${boundary}` },
      body: endless,
      duplex: 'half',
    } as RequestInit);
    t.strictSame(await code(response), [413, 'payload_too_large']);
    for (const name of ['over.bin', 'far.bin', 'endless'])
      t.strictSame(await untilEmpty(() => what.leftovers(name)), [], name);
  });

  t.test('401 without a good token, before the body is looked at', async (t) => {
    const cases: Record<string, string>[] = [
      {},
      { authorization: '' },
      { authorization: 'Bearer' },
      { authorization: 'Bearer wrong-token-0123456789abcdef' },
      { authorization: `Basic ${sluice.token}` },
      { authorization: `Bearer ${sluice.token}x` },
      { authorization: `Bearer ${sluice.token} ${sluice.token}` },
    ];
    for (const headers of cases) {
      const response = await upload(form('x'), headers);
      t.equal(response.headers.get('www-authenticate'), 'Bearer');
      t.strictSame(await code(response), [401, 'unauthorized'], JSON.stringify(headers));
    }
    t.equal((await upload(form('x'), { authorization: `bearer ${sluice.token}` })).status, 200);
  });

  t.test('checksums of the file are checked when they are given, over several parts as well', async (t) => {
    const bytes = randomBytes(20_000_000);
    const md5 = createHash('md5').update(bytes).digest('base64');
    const post = (headers: string, name = 'refused-sum.bin') =>
      fetch(uploadUrl, {
        method: 'POST',
        headers: { ...bearer, 'content-type': 'multipart/form-data; boundary=b' },
        body: Buffer.concat([
          Buffer.from(
            `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n${headers}\r\n`,
          ),
          bytes,
          Buffer.from('\r\n--b--\r\n'),
        ]),
      });
    const crc = crc32(bytes).toString(16).padStart(8, '0');
    const stored = await post(`Content-MD5: ${md5}\r\nX-Checksum-CRC32: ${crc}\r\n`, 'sum.bin');
    t.equal(stored.status, 200);
    const got = await fetch(address((await stored.json()) as CloudFile));
    t.ok(Buffer.from(await got.arrayBuffer()).equals(bytes));
    const wrong = createHash('md5').update('other').digest('base64');
    t.strictSame(await code(await post(`Content-MD5: ${wrong}\r\n`)), [400, 'checksum_mismatch']);
    t.strictSame(await code(await post('X-Checksum-CRC32: 00000000\r\n')), [400, 'checksum_mismatch']);
    t.strictSame(await code(await post('Content-MD5: none\r\n')), [400, 'invalid_multipart']);
    t.strictSame(await untilEmpty(() => what.leftovers('refused-sum')), []);
  });

  t.test('one connection carries many uploads, one after the other', async (t) => {
    const connection = connectRaw(sluice.baseUrl);
    for (let i = 1; i <= 5; i++) {
      connection.send(rawUpload(`kept-${i}.txt`, `number ${i}`));
      const text = await connection.until(
        new RegExp(`(HTTP/1.1 200[^]*"originalName":"kept-\\d.txt"[^]*){${i}}`),
      );
      t.match(text, `"originalName":"kept-${i}.txt"`);
    }
    t.equal(connection.received().match(/HTTP\/1\.1 200/g)?.length, 5);
    connection.socket.destroy();
  });

  t.test('uploads that do not wait for the answer before theirs are cut, and leave nothing', async (t) => {
    const connection = connectRaw(sluice.baseUrl);
    const names = ['piped-1.txt', 'piped-2.txt', 'piped-3.txt'];
    connection.send(names.map((name) => rawUpload(name, 'x'.repeat(1000))).join(''));
    t.equal(await connection.closed(), '', 'no answer that could be taken for that of another upload');
    while ((await what.leftovers('piped')).length > 0) await sleep(20);
    t.strictSame(await untilEmpty(() => what.leftovers('piped')), []);
  });

  t.test('other statuses of the upload address', async (t) => {
    const bad = await fetch(`${sluice.baseUrl}/_f_/no%20slug/upload`, {
      method: 'POST',
      headers: bearer,
      body: form('x'),
    });
    t.strictSame(await code(bad), [400, 'invalid_slug']);
    const get = await fetch(uploadUrl);
    t.equal(get.headers.get('allow'), 'POST, OPTIONS');
    t.strictSame(await code(get), [405, 'method_not_allowed']);
    t.strictSame(await code(await fetch(`${sluice.baseUrl}/_f_/media/nothing.jpg`)), [404, 'not_found']);
  });

  t.test('a client that goes away in the middle leaves no file', async (t) => {
    const raw = connectRaw(sluice.baseUrl);
    raw.send(
      `POST /_f_/media/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${sluice.token}\r\n` +
        `Content-Type: multipart/form-data; boundary=b\r\nContent-Length: ${mostBytes}\r\n\r\n` +
        '--b\r\nContent-Disposition: form-data; name="file"; filename="gone.bin"\r\n\r\n',
    );
    for (let i = 0; i < 100; i++) raw.send(Buffer.alloc(100_000, 1));
    await new Promise((resolve) => setTimeout(resolve, 300));
    raw.socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 500));
    t.strictSame(await untilEmpty(() => what.leftovers('gone')), []);
  });

  t.test('file names survive as they were sent', async (t) => {
    const names = [
      ...['say "hi".txt', 'two\r\nlines.txt', 'Ünïcödé 日本.png', "it's.txt", 'a b.txt', 'semi;colon=.txt'],
      '%41.txt',
      'x'.repeat(1000),
    ];
    for (const name of names) {
      const response = await upload(form('x', name, 'text/plain'));
      t.equal(response.status, 200, name);
      const file = (await response.json()) as CloudFile;
      t.equal(file.originalName, name);
      t.match(file.name, /^[0-9a-f-]{36}_[A-Za-z0-9._-]{1,100}$/);
      const got = await fetch(address(file));
      t.equal(await got.text(), 'x');
    }
    const send = async (disposition: string) => {
      const body = `--b\r\nContent-Disposition: form-data; name="file"; ${disposition}\r\n\r\nx\r\n--b--\r\n`;
      const response = await fetch(uploadUrl, {
        method: 'POST',
        headers: { ...bearer, 'content-type': 'multipart/form-data; boundary=b' },
        body,
      });
      return [response.status, ((await response.json()) as CloudFile).originalName];
    };
    t.strictSame(await send(`filename*=UTF-8''na%C3%AFve%20%E2%82%AC.txt`), [200, 'naïve €.txt']);
    t.strictSame(await send('filename="say \\"hi\\".txt"'), [200, 'say "hi".txt']);
    t.equal((await send('filename="a\0b.txt"'))[0], 400);
    t.equal((await send(`filename="${'x'.repeat(1001)}"`))[0], 400);
    for (const path of ['../../etc/passwd', 'C:\\\\dir\\\\a.txt', '/etc/passwd']) {
      const [status] = await send(`filename="${path}"`);
      t.equal(status, 200, path);
    }
  });

  t.test('downloads: ranges, conditions, HEAD, and no script of ours', async (t) => {
    const file = (await (await upload(form('0123456789', 'page.html', 'text/html'))).json()) as CloudFile;
    const get = (headers: Record<string, string>, method = 'GET') =>
      fetch(address(file), { method, headers });
    const whole = await get({});
    t.equal(whole.headers.get('content-type'), 'application/octet-stream');
    t.match(whole.headers.get('content-disposition'), /^attachment; /);
    t.equal(whole.headers.get('accept-ranges'), 'bytes');
    t.match(whole.headers.get('content-security-policy'), /sandbox/);
    const etag = whole.headers.get('etag') as string;
    t.match(etag, /^"[^"]+"$/);
    t.equal(await whole.text(), '0123456789');

    const head = await get({}, 'HEAD');
    t.equal(head.headers.get('content-length'), '10');
    for (const [range, status, body] of [
      ['bytes=2-4', 206, '234'],
      ['bytes=-3', 206, '789'],
      ['bytes=8-100', 206, '89'],
      ['bytes=10-', 416, null],
      ['bytes=1-2,4-5', 200, '0123456789'],
      ['lines=1-2', 200, '0123456789'],
    ] as const) {
      const response = await get({ range });
      t.equal(response.status, status, range);
      if (body !== null) t.equal(await response.text(), body, range);
      else t.equal(response.headers.get('content-range'), 'bytes */10');
    }
    t.equal((await get({ 'if-none-match': etag })).status, 304);
    t.equal((await get({ 'if-none-match': '"other"' })).status, 200);
    t.equal((await get({ 'if-modified-since': whole.headers.get('last-modified') as string })).status, 304);
    t.equal((await get({ range: 'bytes=0-1', 'if-range': '"other"' })).status, 200);
  });

  t.test('an empty file is a file', async (t) => {
    const response = await upload(form('', 'empty.txt', 'text/plain'));
    t.equal(response.status, 200);
    const got = await fetch(address((await response.json()) as CloudFile));
    t.equal(got.status, 200);
    t.equal(await got.text(), '');
  });
}
