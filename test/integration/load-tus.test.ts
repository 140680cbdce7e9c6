/** The target `tus` of `sluice load`: against a Sluice, and against a server that serves uploads at their addresses. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { slicesOf } from '../../load/seed/bytes.ts';
import { tus } from '../../load/targets/tus.ts';
import { loadTarget } from '../services/load-target.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const upload = { name: 'up', kind: 'upload', sizes: [{ bytes: 300_000 }] };
const download = { name: 'down', kind: 'download', sizes: [{ bytes: 1000 }] };

/** As little of tus 1.0 as a server may have, which also answers GET, as tusd and @tus/server do. */
async function startTus(t: Test) {
  const uploads = new Map<string, { length: number; bytes: Buffer }>();
  const patches: number[] = [];
  const server = createServer(async (request, response) => {
    const upload = uploads.get(request.url ?? '');
    if (request.method === 'POST') {
      const url = `/files/${uploads.size}`;
      uploads.set(url, { length: Number(request.headers['upload-length']), bytes: Buffer.alloc(0) });
      response.writeHead(201, { location: `http://${request.headers.host}${url}` }).end();
    } else if (upload === undefined) response.writeHead(404).end();
    else if (request.method === 'GET') response.end(upload.bytes);
    else {
      const chunk = await bodyOf(request);
      const right = Number(request.headers['upload-offset']) === upload.bytes.byteLength;
      patches.push(chunk.byteLength);
      if (right) upload.bytes = Buffer.concat([upload.bytes, chunk]);
      response.writeHead(right ? 204 : 409, { 'upload-offset': `${upload.bytes.byteLength}` }).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/files/`, uploads, patches };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

t.test('files go up in chunks, and are read again where the server serves them', async (t) => {
  const { url, uploads, patches } = await startTus(t);
  const address = { url, credential: null, options: { chunk: '131072' } };
  const target = await loadTarget(t, tus, address, { seed: 9, requests: [upload, download] });
  patches.length = 0;
  const { stored, ...outcome } = await target.perform('up', 3);
  t.match(outcome, { good: true, status: 200 });
  t.strictSame(patches, [131_072, 131_072, 300_000 - 2 * 131_072]);
  const path = (stored as { path: string }).path;
  t.ok(uploads.get(path)?.bytes.equals(Buffer.concat([...slicesOf(9, 3, 0, 300_000)])));
  t.match(await target.perform('down', 4), { good: true, status: 200 });
  t.match(await target.verify([stored]), { checked: 1, bytes: 300_000, wrong: [] });
  // a byte that the server changed
  const bytes = uploads.get(path)?.bytes as Buffer;
  bytes.writeUInt8(bytes.readUInt8(1000) ^ 1, 1000);
  t.match(await target.verify([stored]), { wrong: [/^file 3 .*: the byte at offset 1000 is 0x/] });
});

t.test('a Sluice takes them, and serves them elsewhere', async (t) => {
  const sluice = await sluiceFor(t);
  const address = { url: `${sluice.baseUrl}/_f_/load/resumable`, credential: sluice.token };
  const target = await loadTarget(t, tus, address, { seed: 9, requests: [upload] });
  const outcome = await target.perform('up', 1);
  t.match(outcome, { good: true, status: 200, stored: undefined });
  t.ok(outcome.sentBytes > 300_000);
  await t.rejects(
    loadTarget(t, tus, address, { seed: 9, requests: [download] }),
    /does not serve uploads at their addresses/,
  );
});
