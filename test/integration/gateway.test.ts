import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { createFileSystemStore } from '../../common/object-store/file-system/file-system-store.ts';
import { serveGatewayOn } from '../services/gateway-on-s3.ts';
import { formBody } from '../services/multipart-harness.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';
import { untilEmpty } from '../services/until-empty.ts';

/** The gateway behind a real server, over a real file system store; rows are kept in memory. */
async function serveGateway(t: Test, maxUploadBytes = 10_000_000) {
  const root = await temporaryFolder(t);
  const served = await serveGatewayOn(t, await createFileSystemStore({ root }), { maxUploadBytes });
  return { root, ...served, port: served.server.port, url: `${served.baseUrl}/_f_/demo/upload` };
}

const bytes = Buffer.from(Array.from({ length: 5_000_000 }, (_, i) => (i ^ (i >> 8) ^ (i >> 16)) & 0xff));

function formOf(content: Uint8Array<ArrayBuffer>, name: string, type: string): FormData {
  const form = new FormData();
  form.set('note', 'hello');
  form.set('file', new File([content], name, { type }));
  return form;
}

t.test('a form of fetch is stored and served again, whole and in part', async (t) => {
  const { url, log } = await serveGateway(t);
  const form = formOf(bytes, 'Größe "1".png', 'image/png');
  const uploaded = await fetch(url, { method: 'POST', body: form });
  t.equal(uploaded.status, 200);
  const file = (await uploaded.json()) as Record<string, string>;
  // a form's file name has its quotes percent-encoded: https://html.spec.whatwg.org/#multipart-form-data
  t.equal(file.originalName, 'Größe "1".png');
  const link = new URL(file.s3Link as string, url);

  const whole = await fetch(link);
  t.equal(whole.headers.get('content-type'), 'image/png');
  t.equal(whole.headers.get('content-length'), String(bytes.byteLength));
  t.ok(Buffer.from(await whole.arrayBuffer()).equals(bytes));

  const part = await fetch(link, { headers: { range: 'bytes=1000000-1999999' } });
  t.equal(part.status, 206);
  t.equal(part.headers.get('content-range'), 'bytes 1000000-1999999/5000000');
  t.ok(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(1_000_000, 2_000_000)));

  const outside = await fetch(link, { headers: { range: 'bytes=5000000-' } });
  t.equal(outside.status, 416);
  t.equal(outside.headers.get('content-range'), 'bytes */5000000');
  await outside.body?.cancel();

  const head = await fetch(link, { method: 'HEAD' });
  t.equal(head.headers.get('content-length'), '5000000');
  const etag = head.headers.get('etag') as string;
  t.equal((await fetch(link, { headers: { 'if-none-match': etag } })).status, 304);
  t.equal((await fetch(url)).status, 405, 'the address of uploads is no file');
  t.strictSame(log.failures, []);
});

t.test('an empty file is stored and served', async (t) => {
  const { url } = await serveGateway(t);
  const uploaded = await fetch(url, { method: 'POST', body: formOf(Buffer.alloc(0), 'empty.txt', '') });
  const file = (await uploaded.json()) as Record<string, string>;
  const served = await fetch(new URL(file.s3Link as string, url));
  t.equal(served.status, 200);
  t.equal(served.headers.get('content-length'), '0');
  t.equal((await served.arrayBuffer()).byteLength, 0);
});

t.test('a file above the limit gets a 413 that the client can read, with and without a length', async (t) => {
  const { url, root } = await serveGateway(t, 1_000_000);
  const large = await fetch(url, { method: 'POST', body: formOf(bytes, 'a', '') });
  t.match(await large.json(), { statusCode: 413, code: 'payload_too_large' });

  const body = formBody('B', [{ name: 'file', fileName: 'a', content: bytes }]);
  const chunked = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=B' },
    body: new ReadableStream({
      start(controller) {
        for (let at = 0; at < body.byteLength; at += 65_536)
          controller.enqueue(body.subarray(at, at + 65_536));
        controller.close();
      },
    }),
    duplex: 'half',
  } as RequestInit);
  t.match(await chunked.json(), { statusCode: 413, code: 'payload_too_large' });
  t.strictSame(await untilEmpty(() => readdir(join(root, 'tmp'))), []);
  t.strictSame(await readdir(join(root, 'objects')), []);
});

t.test('a connection that breaks in the middle leaves no file', async (t) => {
  const { port, root, rows } = await serveGateway(t);
  const body = formBody('B', [{ name: 'file', fileName: 'a', content: bytes }]);
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(
    `POST /_f_/demo/upload HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=B\r\nContent-Length: ${body.byteLength}\r\n\r\n`,
  );
  socket.write(body.subarray(0, 3_000_000));
  const temporary = () => readdir(join(root, 'tmp'));
  while ((await temporary()).length === 0) await sleep(5);
  socket.destroy();
  while ((await temporary()).length > 0) await sleep(5);
  t.strictSame(await readdir(join(root, 'objects')), []);
  t.equal(rows.size, 0);
});
