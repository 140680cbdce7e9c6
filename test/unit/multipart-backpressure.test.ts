import t from 'tap';
import { slabBytes } from '#gateway/memory/slab-pool.ts';
import { UploadMemory } from '#gateway/memory/upload-memory.ts';
import { formBody, inChunks, RecordingWriter, receive, startUpload } from '../services/multipart-harness.ts';

const content = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7 + (i >> 8)) & 0xff));
const body = formBody('B', [{ name: 'file', fileName: 'a.bin', content }]);
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A writer whose parts wait until they are let go, one at a time. */
function gatedWriter() {
  const writer = new RecordingWriter();
  const gates: (() => void)[] = [];
  writer.gate = () => new Promise((resolve) => gates.push(resolve));
  return { writer, gates };
}

t.test('a store that is not done pauses the body', async (t) => {
  for (const concurrentParts of [1, 3]) {
    const { writer, gates } = gatedWriter();
    const upload = startUpload({ partBytes: 1000, concurrentParts, writer });
    let fed = 0;
    for (const chunk of inChunks(body, 300)) {
      fed += chunk.byteLength;
      if (!upload.sink.write(new Uint8Array(chunk))) break;
    }
    // as many parts as may be under way, one that waits, and what the last chunk began
    const full = (concurrentParts + 1) * 1000;
    t.ok(fed > full && fed < full + 600, `paused after ${fed} bytes`);
    await turn();
    t.equal(writer.writing, concurrentParts);
    const resumed = upload.body.resumed();
    gates.shift()?.();
    await resumed;
    t.equal(upload.sink.write(new Uint8Array(body.subarray(fed, fed + 10))), true, 'there is room again');
    upload.sink.fail(new Error('enough'));
    for (const open of gates.splice(0)) open();
    await turn();
    for (const open of gates.splice(0)) open();
    await t.rejects(upload.received, { message: 'enough' });
    t.equal(upload.memory.used, 0);
  }
});

t.test('what is queued when an upload fails is not written any more', async (t) => {
  const { writer, gates } = gatedWriter();
  const upload = startUpload({ partBytes: 1000, writer });
  upload.sink.write(new Uint8Array(body.subarray(0, 5000)));
  await turn();
  upload.sink.fail(new Error('gone'));
  for (const open of gates) open();
  await t.rejects(upload.received, { message: 'gone' });
  t.equal(gates.length, 1);
  t.equal(writer.aborted, 1);
  t.equal(upload.memory.used, 0);
});

t.test('a slow store gets every byte, in few slabs that are used again and again', async (t) => {
  for (const chunkBytes of [1, 77, 999, 1000, 1001, 5000, 200_000]) {
    const writer = new RecordingWriter();
    writer.gate = async () => {
      await turn();
    };
    let most = 0;
    const upload = startUpload({ partBytes: 1000, writer });
    const chunks = function* () {
      for (const chunk of inChunks(body, chunkBytes)) {
        most = Math.max(most, upload.memory.used);
        yield chunk;
      }
    };
    const sent = upload.send(chunks());
    const file = await upload.received;
    await sent;
    await file.writer.complete(file.last);
    file.release();
    t.ok(writer.content.equals(content), `chunks of ${chunkBytes}`);
    t.equal(writer.parts.length, 100);
    t.ok(writer.parts.every((part) => part.byteLength === 1000));
    // one under way, one that waits, one that fills, and what a chunk brings at once
    const atMost = 3 + Math.ceil(chunkBytes / 1000);
    t.ok(most <= atMost * slabBytes, `${most / slabBytes} slabs`);
    t.equal(upload.memory.used, 0);
  }
});

t.test('parts overlap as far as the store allows, and keep their order', async (t) => {
  const writer = new RecordingWriter();
  let turns = 0;
  // later parts are done earlier
  writer.gate = async () => {
    for (let i = 7 - (turns++ % 7); i > 0; i--) await turn();
  };
  await receive(inChunks(body, 513), { partBytes: 1000, concurrentParts: 3, writer });
  t.ok(writer.content.equals(content));
  t.equal(writer.mostAtOnce, 3);
});

t.test('all parts but the last have the size the store asked for, and the last is never empty', async (t) => {
  const { writer } = await receive(inChunks(body, 513), { partBytes: 1024 });
  t.strictSame(
    writer.parts.map((part) => part.byteLength),
    [...Array(97).fill(1024), 100_000 - 97 * 1024],
  );
  const even = await receive(inChunks(body, 513), { partBytes: 50_000 });
  t.strictSame(
    even.writer.parts.map((part) => part.byteLength),
    [50_000, 50_000],
  );
  t.equal(even.file.last.size, 0, 'the store has it already, because it is not the only one');
  const one = await receive(inChunks(body, 513), { partBytes: 100_000 });
  t.equal(
    one.file.last.size,
    100_000,
    'a full part is held back until it is known whether it is the only one',
  );
});

t.test('an object that takes long to begin holds the body back as well', async (t) => {
  const writer = new RecordingWriter();
  let begin: () => void = () => {};
  const upload = startUpload({
    partBytes: 1000,
    begin: () =>
      new Promise((resolve) => {
        begin = () => resolve(writer);
      }),
  });
  let sent = false;
  const sending = upload.send(inChunks(body, 400)).then(() => {
    sent = true;
  });
  for (let i = 0; i < 20; i++) await turn();
  t.equal(sent, false);
  t.ok(upload.memory.used <= 4 * slabBytes);
  begin();
  await sending;
  const file = await upload.received;
  await file.writer.complete(file.last);
  t.ok(writer.content.equals(content));
});

/** All of it is another account's. */
function fullMemory() {
  const memory = new UploadMemory({
    bytes: 5 * 1024 * 1024,
    largestPart: 1024 * 1024,
    minRate: 0,
    ratePeriod: 1e9,
    waitLimit: 1e9,
  });
  const hog = memory.open('bob', { resume: () => {}, flush: () => false, cut: () => {} });
  hog.want(5 * 1024 * 1024, true);
  const slabs = Array.from({ length: 80 }, () => hog.take());
  hog.arrived(80 * slabBytes);
  return { memory, hog, slabs };
}

t.test('nothing is read before there is memory for it', async (t) => {
  const { memory, hog, slabs } = fullMemory();
  const upload = startUpload({ memory });
  t.equal(upload.body.sink, null, 'the body is not consumed yet');
  hog.give(slabs);
  t.not(upload.body.sink, null);
  hog.close();
});

t.test('an upload that waits ends when its request does', async (t) => {
  const { memory } = fullMemory();
  const controller = new AbortController();
  const upload = startUpload({ memory, signal: controller.signal });
  controller.abort(new Error('the server stops'));
  await t.rejects(upload.received, { message: 'the server stops' });
  t.notOk(memory.contended);
});

t.test('a boundary that is longer than a part fits', async (t) => {
  const boundary = 'b'.repeat(70);
  const lookAlike = Buffer.from(`\r\n--${'b'.repeat(69)}`.repeat(20));
  const form = formBody(boundary, [{ name: 'file', fileName: 'a', content: lookAlike }]);
  for (const chunkBytes of [1, 5, 71, 1000]) {
    const { writer } = await receive(inChunks(form, chunkBytes), { boundary, partBytes: 16 });
    t.ok(writer.content.equals(lookAlike), `chunks of ${chunkBytes}`);
  }
});
