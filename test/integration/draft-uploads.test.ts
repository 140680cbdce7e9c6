/** The draft Resumable Uploads for HTTP, as a client of its text sends it; tus-js-client's way is in tus-js-client.test.ts. */
import { connect } from 'node:net';
import t from 'tap';
import { serveTus, tusStores } from '../services/tus-gateway.ts';
import { patternBytes } from './object-store-contract.ts';

const bytes = patternBytes(200_000);
const partial = 'application/partial-upload';

for (const [name, openStore] of Object.entries(tusStores)) {
  const serve = async (t: Parameters<typeof serveTus>[0]) => {
    const gateway = await serveTus(t, await openStore(t));
    const send = async (
      path: string,
      method: string,
      headers: Record<string, string> = {},
      body?: Uint8Array | ReadableStream,
    ) => {
      const response = await fetch(new URL(path, gateway.baseUrl), {
        method,
        headers,
        ...(body && { body: body instanceof Uint8Array ? Buffer.from(body) : body, duplex: 'half' }),
      });
      const { status, headers: received } = response;
      const [offset, complete] = [received.get('upload-offset'), received.get('upload-complete')];
      const location = received.get('location') ?? '';
      return { status, offset, complete, location, headers: received, text: await response.text() };
    };
    const begin = (headers: Record<string, string>, body?: Uint8Array | ReadableStream) =>
      send('/_f_/demo/resumable', 'POST', headers, body);
    const append = (path: string, offset: number, body: Uint8Array | ReadableStream, complete: string) =>
      send(
        path,
        'PATCH',
        { 'upload-offset': `${offset}`, 'upload-complete': complete, 'content-type': partial },
        body,
      );
    return { ...gateway, send, begin, append };
  };
  const streamOf = (chunk: Uint8Array) =>
    new ReadableStream({
      start(controller) {
        controller.enqueue(chunk);
        controller.close();
      },
    });

  t.test(`${name}: a file in one request, whose length is known or not`, async (t) => {
    const { begin, rows, stored } = await serve(t);
    const about = {
      'upload-complete': '?1',
      'content-type': 'image/png',
      'content-disposition': 'attachment; filename="a b.png"',
    };
    for (const body of [bytes, streamOf(bytes), streamOf(bytes.subarray(0, 5)), new Uint8Array()]) {
      const made = await begin(about, body);
      t.match(made, { status: 201, complete: '?1' });
      t.match(JSON.parse(made.text), { originalName: 'a b.png', contentType: 'image/png' });
    }
    t.strictSame(
      [...rows.values()].map(({ size }) => size),
      [200_000, 200_000, 5, 0],
    );
    for (const one of await stored()) t.ok(one.equals(bytes.subarray(0, one.byteLength)));
  });

  t.test(`${name}: a file in pieces; the last one may be empty, or say nothing of its length`, async (t) => {
    const { begin, append, send, rows, stored, left } = await serve(t);
    const cut = 140_000;
    const endings: (() => [number, Uint8Array | ReadableStream][])[] = [
      () => [[cut, bytes.subarray(cut)]],
      () => [[cut, streamOf(bytes.subarray(cut))]],
      () => [
        [cut, bytes.subarray(cut)],
        [bytes.byteLength, new Uint8Array()],
      ],
    ];
    for (const ending of endings) {
      const begun = await begin({ 'upload-complete': '?0' });
      t.match(begun, { status: 201, complete: '?0' });
      t.match(begun.headers.get('upload-limit'), 'max-size=1000000');
      t.match(await append(begun.location, 0, bytes.subarray(0, cut), '?0'), {
        status: 204,
        offset: `${cut}`,
        complete: '?0',
      });
      const head = await send(begun.location, 'HEAD');
      t.match(head, { status: 204, offset: `${cut}`, complete: '?0' });
      t.equal(head.headers.get('upload-length'), null);
      t.match(await append(begun.location, 5, bytes, '?1'), { status: 409, offset: `${cut}` });
      const pieces = ending();
      for (const [index, [offset, body]] of pieces.entries()) {
        const isLast = index === pieces.length - 1;
        const answer = await append(begun.location, offset, body, isLast ? '?1' : '?0');
        t.match(answer, { status: isLast ? 200 : 204, offset: '200000', complete: isLast ? '?1' : '?0' });
      }
      t.match(await send(begun.location, 'HEAD'), { status: 204, offset: '200000', complete: '?1' });
      t.match(await append(begun.location, 200_000, new Uint8Array(), '?1'), {
        status: 409,
        offset: '200000',
      });
    }
    t.equal(rows.size, endings.length);
    for (const one of await stored()) t.ok(one.equals(bytes));
    const dropped = await begin({ 'upload-complete': '?0', 'upload-length': '10' }, bytes.subarray(0, 5));
    t.match(dropped, { status: 201, offset: '5', complete: '?0' });
    t.equal((await send(dropped.location, 'DELETE')).status, 204);
    t.equal((await send(dropped.location, 'HEAD')).status, 404);
    t.strictSame(await left(), []);
  });

  t.test(`${name}: the last piece that breaks off is not the end`, async (t) => {
    const { begin, append, send, baseUrl, resumable, stored, memory } = await serve(t);
    const { location } = await begin({ 'upload-complete': '?0' });
    const { hostname, port } = new URL(baseUrl);
    const socket = connect(Number(port), hostname);
    const head = `PATCH ${location} HTTP/1.1\r\nHost: ${hostname}\r\nUpload-Complete: ?1\r\nUpload-Offset: 0\r\n`;
    socket.write(`${head}Content-Type: ${partial}\r\nTransfer-Encoding: chunked\r\n\r\n`);
    socket.write(`${(1000).toString(16)}\r\n`);
    socket.write(Buffer.concat([bytes.subarray(0, 1000), Buffer.from('\r\n')]));
    for (let i = 0; i < 500 && memory.used === 0; i++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    socket.destroy();
    await resumable.close(5000);
    const { offset, complete, status } = await send(location, 'HEAD');
    t.match({ complete, status }, { complete: '?0', status: 204 });
    const at = Number(offset);
    t.ok(at <= 1000);
    t.match(await append(location, at, bytes.subarray(at), '?1'), { status: 200, complete: '?1' });
    t.ok((await stored())[0]?.equals(bytes));
  });

  t.test(`${name}: what is wrong gets a clear answer`, async (t) => {
    const { begin, append, send, rows } = await serve(t);
    const interop = { 'upload-draft-interop-version': '6' };
    t.match(await begin(interop), { status: 400, text: /Upload-Complete should be/ });
    t.match(await begin({ 'upload-complete': '1' }), { status: 400, text: /invalid_header/ });
    const wrong = { 'upload-complete': '?1', 'upload-length': '7' };
    t.match(await begin(wrong, bytes.subarray(0, 6)), { status: 400, text: /last bytes end at 6/ });
    t.match(await begin({ 'upload-complete': '?0', 'upload-length': '1000001' }), { status: 413 });
    t.match(await begin({ 'upload-complete': '?1', 'content-disposition': ';' }, bytes), { status: 400 });
    const { location } = await begin({ 'upload-complete': '?0', 'upload-length': '10' });
    const headers = { 'upload-offset': '0', 'upload-complete': '?0' };
    t.match(await send(location, 'PATCH', headers, bytes.subarray(0, 5)), { status: 415 });
    const typed = { ...interop, 'content-type': partial };
    t.match(await send(location, 'PATCH', { ...typed, 'upload-offset': '0' }, bytes), { status: 400 });
    t.match(await send(location, 'PATCH', { ...typed, 'upload-complete': '?0' }, bytes), { status: 400 });
    t.match(await append(location, 0, bytes.subarray(0, 5), '?1'), { status: 409, text: /length/ });
    t.match(await append(location, 0, bytes.subarray(0, 11), '?0'), { status: 413 });
    t.match(await send(location, 'HEAD'), { status: 204, offset: '0' });
    const stranger = { 'test-owner': '1b9e2f4e-6a57-4f8a-9d0c-1f2e3d4c5b6b' };
    t.equal((await send(location, 'HEAD', stranger)).status, 404);
    t.equal((await send(location, 'DELETE')).status, 204);
    t.equal(rows.size, 0);
  });
}
