import { randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Test } from 'tap';
import type { ObjectStore, OpenUpload, WrittenBytes } from '#objects/object-store.ts';
import { emptyPart, partOf, storeObject } from '../services/store-object.ts';

const png = { contentType: 'image/png', metadata: { 'file-id': 'a', 'original-name': 'b%20c' } };
const never = new AbortController().signal;

/** Bytes that differ from place to place, so that a swapped or repeated part shows. */
export function patternBytes(length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  for (let i = 0; i < length; i++) bytes[i] = (i * 31 + (i >>> 8) * 17 + (i >>> 16)) & 0xff;
  return bytes;
}

export async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}

/** What every ObjectStore promises. `makeStore` answers a store that may be shared with others: keys are our own. */
export async function objectStoreContract(t: Test, makeStore: () => Promise<ObjectStore>): Promise<void> {
  const store = await makeStore();
  t.teardown(() => store.close());
  const owner = randomUUID();
  let made = 0;
  const newKey = () => `${owner}/project/${++made}_file.bin`;

  const put = (key: string, bytes: Uint8Array) => storeObject(store, key, bytes, png);
  const partBytes = store.partBytes(0, Number.POSITIVE_INFINITY);
  const read = (key: string, range: { start: number; end: number } | null = null) =>
    collect(store.read(key, range, never));
  const keys = async (prefix: string): Promise<string[]> => {
    const found: string[] = [];
    for await (const { key } of store.list(prefix, never)) found.push(key);
    return found.sort();
  };
  const openUploads = async (): Promise<OpenUpload[]> => {
    const found: OpenUpload[] = [];
    for await (const upload of store.listOpenUploads(never))
      if (upload.key === '' || upload.key.startsWith(owner)) found.push(upload);
    return found;
  };

  await t.test('an object of several parts comes back byte for byte', async (t) => {
    const key = newKey();
    const bytes = patternBytes(2 * partBytes + 12_345);
    await put(key, bytes);
    t.ok((await read(key)).equals(bytes));
  });

  await t.test('objects of 0 and 1 bytes, and around one and two parts', async (t) => {
    for (const size of [0, 1, partBytes - 1, partBytes, partBytes + 1, 2 * partBytes]) {
      const key = newKey();
      await put(key, patternBytes(size));
      t.equal((await store.head(key, never))?.size, size);
      t.ok((await read(key)).equals(patternBytes(size)), `${size} bytes`);
    }
  });

  await t.test('the last part may be empty', async (t) => {
    const key = newKey();
    const writer = await store.create(key, png, never);
    await writer.writePart(partOf(patternBytes(partBytes)));
    await writer.complete(emptyPart);
    t.ok((await read(key)).equals(patternBytes(partBytes)));
  });

  await t.test('chunks may be reused as soon as writePart has resolved', async (t) => {
    const key = newKey();
    const writer = await store.create(key, png, never);
    const bytes = Buffer.alloc(partBytes, 1);
    await writer.writePart(partOf(bytes));
    bytes.fill(2);
    await writer.complete(partOf(bytes));
    bytes.fill(3);
    const expected = Buffer.concat([Buffer.alloc(partBytes, 1), Buffer.alloc(partBytes, 2)]);
    t.ok((await read(key)).equals(expected));
  });

  await t.test('chunks of any length, also none, make a part', async (t) => {
    const key = newKey();
    const bytes = patternBytes(partBytes + 2000);
    const writer = await store.create(key, png, never);
    await writer.writePart(partOf(bytes.subarray(0, partBytes), 4999));
    const last = partOf(bytes.subarray(partBytes), 1);
    await writer.complete({ ...last, chunks: [new Uint8Array(0), ...last.chunks, new Uint8Array(0)] });
    t.ok((await read(key)).equals(bytes));
  });

  await t.test('parts take their place in the order of the calls, and complete waits for them', async (t) => {
    const key = newKey();
    const bytes = patternBytes((store.concurrentParts + 1) * partBytes);
    const writer = await store.create(key, png, never);
    const writing = Array.from({ length: store.concurrentParts }, (_, i) =>
      writer.writePart(partOf(bytes.subarray(i * partBytes, (i + 1) * partBytes))),
    );
    await writer.complete(partOf(bytes.subarray(store.concurrentParts * partBytes)));
    await Promise.all(writing);
    t.ok((await read(key)).equals(bytes));
  });

  await t.test('head describes an object', async (t) => {
    const key = newKey();
    const before = Date.now();
    await put(key, patternBytes(321));
    const found = await store.head(key, never);
    t.match(found, { key, size: 321, ...png });
    // stores may keep whole seconds, and have a clock of their own
    t.ok(Math.abs((found?.lastModified.getTime() ?? 0) - before) < 60_000);
    t.equal(await store.head(newKey(), never), null);
  });

  await t.test('a small object is read as a whole, and a larger one is refused', async (t) => {
    for (const size of [0, 1, 100_000]) {
      const key = newKey();
      await put(key, patternBytes(size));
      t.ok((await store.readWhole(key, size, never))?.equals(patternBytes(size)), `${size} bytes`);
      t.ok((await store.readWhole(key, 10_000_000, never))?.equals(patternBytes(size)), `${size} bytes`);
      if (size > 0) await t.rejects(store.readWhole(key, size - 1, never), { message: /bytes/ });
    }
    t.equal(await store.readWhole(newKey(), 10, never), null);
    await t.rejects(store.readWhole(newKey(), 10, AbortSignal.abort(new Error('gone'))), { message: 'gone' });
  });

  await t.test('ranges have both ends inclusive', async (t) => {
    const key = newKey();
    const bytes = patternBytes(partBytes + 5000);
    await put(key, bytes);
    const last = bytes.byteLength - 1;
    for (const [start, end] of [
      [0, 0],
      [0, last],
      [last, last],
      [7, 4096],
      [partBytes - 1, partBytes + 1],
    ] as const) {
      t.ok((await read(key, { start, end })).equals(bytes.subarray(start, end + 1)), `${start}-${end}`);
    }
  });

  await t.test('nothing is visible before complete', async (t) => {
    const key = newKey();
    const writer = await store.create(key, png, never);
    await writer.writePart(partOf(patternBytes(partBytes)));
    t.equal(await store.head(key, never), null);
    await t.rejects(read(key));
    t.strictSame(await keys(key), []);
    await writer.complete(emptyPart);
    t.strictSame(await keys(key), [key]);
  });

  await t.test('abort leaves nothing, may be called twice, and spares what is complete', async (t) => {
    const key = newKey();
    const writer = await store.create(key, png, never);
    await writer.writePart(partOf(patternBytes(10)));
    await writer.abort();
    await writer.abort();
    t.equal(await store.head(key, never), null);
    await t.rejects(writer.complete(emptyPart), 'an aborted object stays aborted');
    t.equal(await store.head(key, never), null);

    const done = await store.create(key, png, never);
    await done.complete(emptyPart);
    await done.abort();
    t.not(await store.head(key, never), null);
  });

  await t.test('an aborted signal stops a writer', async (t) => {
    const key = newKey();
    await t.rejects(store.create(key, png, AbortSignal.abort(new Error('gone'))), { message: 'gone' });
    const early = new AbortController();
    const one = await store.create(key, png, early.signal);
    early.abort(new Error('gone'));
    await t.rejects(one.writePart(partOf(patternBytes(10))), { message: 'gone' });
    await one.abort();
    const late = new AbortController();
    const two = await store.create(key, png, late.signal);
    await two.writePart(partOf(patternBytes(10)));
    late.abort(new Error('gone'));
    await t.rejects(two.complete(emptyPart), { message: 'gone' });
    await two.abort();
    t.equal(await store.head(key, never), null);
  });

  await t.test('an abort settles parts that are under way', async (t) => {
    const key = newKey();
    const writer = await store.create(key, png, never);
    const writing = Promise.allSettled([writer.writePart(partOf(patternBytes(partBytes)))]);
    await writer.abort();
    await writing;
    await t.rejects(writer.writePart(partOf(patternBytes(10))));
    t.equal(await store.head(key, never), null);
  });

  await t.test('an aborted signal stops a reader', async (t) => {
    const key = newKey();
    await put(key, patternBytes(partBytes));
    const controller = new AbortController();
    await t.rejects(
      (async () => {
        for await (const _ of store.read(key, null, controller.signal)) controller.abort(new Error('gone'));
      })(),
      { message: 'gone' },
    );
    const gone = AbortSignal.abort(new Error('gone'));
    await t.rejects(store.head(key, gone), { message: 'gone' });
    await t.rejects(store.delete(key, gone), { message: 'gone' });
    t.not(await store.head(key, never), null);
  });

  await t.test('chunks are bounded, and a reader may stop early', async (t) => {
    const key = newKey();
    await put(key, patternBytes(partBytes));
    for await (const chunk of store.read(key, null, never)) {
      t.ok(chunk.byteLength <= 256 * 1024);
      break;
    }
    await store.delete(key, never);
  });

  await t.test('reading what is not there rejects', async (t) => {
    await t.rejects(read(newKey()));
  });

  await t.test('delete removes, and resolves when there is nothing', async (t) => {
    const key = newKey();
    await put(key, patternBytes(10));
    await store.delete(key, never);
    t.equal(await store.head(key, never), null);
    await t.rejects(read(key));
    await store.delete(key, never);
  });

  await t.test('deleteAll removes what is there, and no more', async (t) => {
    const base = `${owner}/many`;
    const some = Array.from({ length: 12 }, (_, index) => `${base}/${index}`);
    for (const key of [...some, `${base}/kept`]) await put(key, patternBytes(3));
    t.strictSame(await store.deleteAll([...some, `${base}/never`], never), []);
    t.strictSame(await keys(`${base}/`), [`${base}/kept`]);
    t.equal(await store.head(some[0] as string, never), null);
    t.strictSame(await store.deleteAll(some, never), []);
    t.strictSame(await store.deleteAll([], never), []);
    await t.rejects(store.deleteAll(some, AbortSignal.abort(new Error('gone'))), { message: 'gone' });
    await store.delete(`${base}/kept`, never);
  });

  await t.test('list finds by prefix, also one that ends inside a name', async (t) => {
    const base = `${owner}/list`;
    const all = [`${base}/a/1`, `${base}/a/12`, `${base}/ab/1`, `${base}/b/c/d`].sort();
    for (const key of all) await put(key, patternBytes(3));
    t.strictSame(await keys(`${base}/`), all);
    t.strictSame(await keys(`${base}/a`), [`${base}/a/1`, `${base}/a/12`, `${base}/ab/1`]);
    t.strictSame(await keys(`${base}/a/`), [`${base}/a/1`, `${base}/a/12`]);
    t.strictSame(await keys(`${base}/a/12`), [`${base}/a/12`]);
    t.strictSame(await keys(`${base}/b/c`), [`${base}/b/c/d`]);
    t.strictSame(await keys(`${base}/nothing/`), []);
    for await (const info of store.list(`${base}/b`, never)) {
      t.match(info, { key: `${base}/b/c/d`, size: 3, lastModified: Date });
    }
  });

  await t.test('objects written at once do not mix', async (t) => {
    const written = await Promise.all(
      Array.from({ length: 8 }, async (_, i) => {
        const key = `${owner}/at-once-${i}/${randomUUID()}`;
        const bytes = Buffer.alloc(partBytes + 100, i + 1);
        await put(key, bytes);
        return { key, bytes };
      }),
    );
    for (const { key, bytes } of written) t.ok((await read(key)).equals(bytes));
  });

  await t.test('an object written again is replaced whole', async (t) => {
    const key = newKey();
    await put(key, patternBytes(5000));
    await put(key, Buffer.from('second'));
    t.equal((await read(key)).toString(), 'second');
  });

  await t.test('open uploads are listed until they end', async (t) => {
    const before = new Set((await openUploads()).map(({ id }) => id));
    const begun = Date.now();
    const writers = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const writer = await store.create(newKey(), png, never);
        await writer.writePart(partOf(patternBytes(partBytes)));
        return writer;
      }),
    );
    const open = (await openUploads()).filter(({ id }) => !before.has(id));
    t.equal(open.length, 3);
    // stores may have a clock of their own
    for (const { since } of open) t.ok(Math.abs(since.getTime() - begun) < 60_000);
    const [first, second, third] = writers;
    await first?.complete(emptyPart);
    await second?.abort();
    const left = (await openUploads()).filter(({ id }) => !before.has(id));
    t.equal(left.length, 1);
    await third?.abort();
    t.strictSame(
      (await openUploads()).filter(({ id }) => !before.has(id)),
      [],
    );
  });

  await t.test('abortUpload drops an upload, and resolves when there is none', async (t) => {
    const before = new Set((await openUploads()).map(({ id }) => id));
    const key = newKey();
    const writer = await store.create(key, png, never);
    await writer.writePart(partOf(patternBytes(partBytes)));
    const [open] = (await openUploads()).filter(({ id }) => !before.has(id));
    if (open === undefined) throw new Error('the upload is not listed');
    await t.rejects(store.abortUpload(open, AbortSignal.abort(new Error('gone'))), { message: 'gone' });
    await store.abortUpload(open, never);
    await store.abortUpload(open, never);
    t.notOk((await openUploads()).some(({ id }) => id === open.id));
    await t.rejects(writer.complete(emptyPart), 'what was dropped can not be completed');
    await writer.abort();
    t.equal(await store.head(key, never), null);
  });

  await unfinishedObjects(t, store, `${owner}/unfinished`);

  await t.test('ready resolves', async (t) => {
    await t.resolves(store.ready(never));
    await t.rejects(store.ready(AbortSignal.abort(new Error('gone'))));
  });
}

/** What every store promises of objects that are written by one process after the other. */
async function unfinishedObjects(t: Test, store: ObjectStore, folder: string): Promise<void> {
  const partBytes = store.partBytes(0, Number.POSITIVE_INFINITY);
  const bytes = patternBytes(3 * partBytes + 999);
  const part = (index: number, of = bytes) =>
    partOf(of.subarray(index * partBytes, Math.min((index + 1) * partBytes, of.byteLength)));
  let made = 0;
  const newKey = () => `${folder}/${++made}_file.bin`;
  /** As another process reads it. */
  const carried = (written: WrittenBytes) => JSON.parse(JSON.stringify(written)) as WrittenBytes;
  const read = (key: string) => collect(store.read(key, null, never));

  await t.test('an object that was left unfinished goes on where it was', async (t) => {
    const key = newKey();
    const first = await store.resume(key, png, null, never);
    t.match(await first.written(), { size: 0, crc32: 0 });
    await Promise.all([first.writePart(part(0)), first.writePart(part(1))]);
    const written = carried(await first.written());
    t.match(written, { size: 2 * partBytes, crc32: crc32(bytes.subarray(0, 2 * partBytes)) });
    t.equal(await store.head(key, never), null);
    // the first one's process is gone
    const second = await store.resume(key, png, written, never);
    await second.writePart(part(2));
    await second.suspend();
    await t.rejects(second.writePart(part(3)), 'who has stopped writes no more');
    const third = await store.resume(key, png, carried(await second.written()), never);
    await third.writePart(part(3));
    t.match(await third.written(), { size: bytes.byteLength, crc32: crc32(bytes) });
    const last = await store.resume(key, png, carried(await third.written()), never);
    await last.complete(emptyPart);
    for (const gone of [first, third]) await gone.suspend();
    t.ok((await read(key)).equals(bytes));
    t.match(await store.head(key, never), { size: bytes.byteLength, ...png });
  });

  await t.test('an object of one part may be left before it has begun', async (t) => {
    const key = newKey();
    const first = await store.resume(key, png, null, never);
    await first.suspend();
    const second = await store.resume(key, png, carried(await first.written()), never);
    await second.complete(partOf(bytes.subarray(0, 10)));
    t.ok((await read(key)).equals(bytes.subarray(0, 10)));
  });

  await t.test('what nobody was told of is written again', async (t) => {
    const key = newKey();
    const first = await store.resume(key, png, null, never);
    await first.writePart(part(0));
    const written = carried(await first.written());
    await first.writePart(partOf(Buffer.alloc(partBytes, 1)));
    await first.writePart(partOf(Buffer.alloc(partBytes, 2)));
    await first.suspend();
    const second = await store.resume(key, png, written, never);
    await second.writePart(part(1));
    await second.complete(partOf(bytes.subarray(2 * partBytes, 2 * partBytes + 5)));
    t.ok((await read(key)).equals(bytes.subarray(0, 2 * partBytes + 5)));
  });

  await t.test('a stop settles parts under way, and what is written has no gap', async (t) => {
    const key = newKey();
    const first = await store.resume(key, png, null, never);
    const writing = Promise.allSettled([0, 1, 2].map((index) => first.writePart(part(index))));
    await first.suspend();
    await writing;
    const written = carried(await first.written());
    t.equal(written.crc32, crc32(bytes.subarray(0, written.size)));
    const second = await store.resume(key, png, written, never);
    for (let index = written.size / partBytes; index < 3; index++) await second.writePart(part(index));
    await second.complete(part(3));
    t.ok((await read(key)).equals(bytes));
  });

  await t.test('an unfinished object is dropped by its key, and resolves when there is none', async (t) => {
    const key = newKey();
    const writer = await store.resume(key, png, null, never);
    await writer.writePart(part(0));
    await writer.suspend();
    const written = carried(await writer.written());
    await t.rejects(store.dropWritten(key, written, AbortSignal.abort(new Error('gone'))), {
      message: 'gone',
    });
    await store.dropWritten(key, written, never);
    await store.dropWritten(key, written, never);
    for await (const upload of store.listOpenUploads(never)) t.notOk(store.isUploadOf(upload, key));
    await t.rejects(
      store.resume(key, png, written, never).then((again) => again.complete(emptyPart)),
      'what was dropped can not be completed',
    );
    t.equal(await store.head(key, never), null);
  });
}
