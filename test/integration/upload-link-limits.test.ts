/** `maxBytes` of a link: what comes beyond it reaches no store, whichever way it comes and whatever it says of its length. */
import t, { type Test } from 'tap';
import type { ObjectStore, ObjectWriter } from '#objects/object-store.ts';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { chunkType, serveTus, tusStores } from '../services/tus-gateway.ts';
import { patternBytes } from './object-store-contract.ts';

const maxBytes = 300_000;
const beyond = 64 * 1024;
const sent = patternBytes(8_000_000);

/** A store that counts the bytes it is given, but for states of uploads. */
function counting(store: ObjectStore) {
  const counts = { bytes: 0 };
  const counted = (key: string, size: number): void => {
    if (!/\/_resumable\/[^!]*$/.test(key)) counts.bytes += size;
  };
  const watched = (key: string, writer: ObjectWriter): ObjectWriter => ({
    writePart: (part) => {
      counted(key, part.size);
      return writer.writePart(part);
    },
    complete: (last) => {
      counted(key, last.size);
      return writer.complete(last);
    },
    abort: () => writer.abort(),
  });
  const over: ObjectStore = {
    ...store,
    create: async (key, ...args) => watched(key, await store.create(key, ...args)),
    async resume(key, ...args) {
      const writer = await store.resume(key, ...args);
      return {
        ...watched(key, writer),
        written: () => writer.written(),
        suspend: () => writer.suspend(),
      };
    },
  };
  return { counts, store: over };
}

function streamOf(body: Uint8Array): ReadableStream {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= body.byteLength) return controller.close();
      controller.enqueue(body.subarray(at, at + 50_000));
      at += 50_000;
    },
  });
}

async function serve(t: Test, openStore: (t: Test) => Promise<ObjectStore>) {
  const { counts, store } = counting(await openStore(t));
  const gateway = await serveTus(t, store, { maxUploadBytes: 100_000_000, needToken: true });
  const { baseUrl } = gateway;
  const made = await fetch(`${baseUrl}/_f_/demo/upload-link`, {
    method: 'POST',
    headers: { 'test-token': 'needed' },
    body: JSON.stringify({ expiresIn: 600, maxBytes }),
  });
  const link = (await made.json()) as Record<'form' | 'put' | 'resumable', string>;
  const send = async (
    address: string,
    method: string,
    headers: Record<string, string>,
    body: Uint8Array,
    told: boolean,
  ) => {
    const response = await fetch(new URL(address.replace('http://files.test', ''), baseUrl), {
      method,
      headers,
      duplex: 'half',
      body: told ? Buffer.from(body) : streamOf(body),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const form = (body: Uint8Array): Buffer =>
    Buffer.concat([
      Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'),
      ...[body, Buffer.from('\r\n--b--\r\n')],
    ]);
  const tus = { 'tus-resumable': '1.0.0', 'content-type': chunkType, accept: 'application/json' };
  const append = async (body: Uint8Array, told: boolean, begun: Record<string, string>) => {
    const { headers } = await send(
      link.resumable,
      'POST',
      { 'tus-resumable': '1.0.0', ...begun },
      new Uint8Array(),
      true,
    );
    const address = headers.get('location') ?? '';
    const answer = await send(address, 'PATCH', { ...tus, 'upload-offset': '0' }, body, told);
    if (answer.status !== 200)
      await fetch(new URL(address, baseUrl), { method: 'DELETE', headers: { 'tus-resumable': '1.0.0' } });
    return answer;
  };
  const deferred = { 'upload-defer-length': '1' };
  /** By name; each is given the bytes, and whether it tells their number first. */
  const ways: Record<string, (body: Uint8Array, told: boolean) => Promise<{ status: number; text: string }>> =
    {
      form: (body, told) =>
        send(link.form, 'POST', { 'content-type': 'multipart/form-data; boundary=b' }, form(body), told),
      PUT: (body, told) => send(link.put.replace('{name}', 'a'), 'PUT', {}, body, told),
      'tus at once': (body, told) =>
        send(link.resumable, 'POST', { ...tus, 'upload-length': `${body.byteLength}` }, body, told),
      'tus without a length': (body, told) => append(body, told, deferred),
      'tus with a length that is too short': (body, told) =>
        append(body, told, { 'upload-length': `${Math.min(body.byteLength, maxBytes)}` }),
      'the draft': (body, told) => send(link.resumable, 'POST', { 'upload-complete': '?1' }, body, told),
    };
  return { ...gateway, counts, ways };
}

t.test('a length that is told', async (t) => {
  const { counts, ways, rows, left } = await serve(t, tusStores['file system']);
  for (const [way, upload] of Object.entries(ways)) {
    for (const size of [sent.byteLength, maxBytes + 1])
      t.match(await upload(sent.subarray(0, size), true), { status: 413, text: /payload_too_large/ }, way);
    t.equal(counts.bytes, 0);
    // without a length nothing says that it is complete
    if (way === 'tus without a length') continue;
    const { status } = await upload(sent.subarray(0, maxBytes), true);
    t.ok([200, 201].includes(status), `${way}, all that it takes: ${status}`);
    t.strictSame(
      [...rows.values()].map(({ size }) => size),
      [maxBytes],
    );
    rows.clear();
    counts.bytes = 0;
  }
  await eventuallyEqual(t, left, []);
});

t.test('no length', async (t) => {
  const { counts, ways, rows, memory, left } = await serve(t, tusStores.S3);
  for (const way of ['form', 'PUT', 'tus without a length', 'the draft']) {
    counts.bytes = 0;
    t.match(await ways[way]?.(sent, false), { status: 413, text: /payload_too_large/ }, way);
    await eventuallyEqual(t, () => memory.used, 0);
    t.ok(
      counts.bytes > 0 && counts.bytes <= maxBytes + beyond,
      `${way}: the store was given ${counts.bytes} bytes`,
    );
  }
  t.equal(rows.size, 0);
  await eventuallyEqual(t, left, []);
});
