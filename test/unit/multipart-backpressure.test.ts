import t from 'tap';
import {
  FakeBody,
  formBody,
  inChunks,
  RecordingWriter,
  receive,
  startUpload,
} from '../services/multipart-harness.ts';

const content = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7 + (i >> 8)) & 0xff));
const body = formBody('B', [{ name: 'file', fileName: 'a.bin', content }]);
const turn = () => new Promise((resolve) => setImmediate(resolve));

t.test('a store that is not done pauses the body once two buffers are full', async (t) => {
  const writer = new RecordingWriter();
  let open: () => void = () => {};
  writer.gate = () =>
    new Promise((resolve) => {
      open = resolve;
    });
  const upload = startUpload({ partBytes: 1000, writer });
  let fed = 0;
  const chunks = inChunks(body, 300);
  const feedUntilPaused = () => {
    for (const chunk of chunks) {
      fed += chunk.byteLength;
      if (!upload.sink.write(new Uint8Array(chunk))) return;
    }
  };
  feedUntilPaused();
  t.ok(fed >= 2000 && fed < 2000 + 500, `paused after ${fed} bytes`);
  await turn();
  const resumed = upload.body.resumed();
  open();
  await resumed;
  const before = fed;
  t.equal(upload.sink.write(new Uint8Array(body.subarray(fed, fed + 300))), true, 'there is room again');
  fed += 300;
  t.ok(fed > before);
  await turn();
  upload.sink.fail(new Error('enough'));
  open();
  await t.rejects(upload.received, { message: 'enough' });
});

t.test('the body is paused by the very chunk that fills the buffers', async (t) => {
  const headBytes = body.indexOf('\r\n\r\n') + 4;
  // the parser holds nothing back, because these bytes end with none of the boundary's
  for (const [bytes, goesOn] of [
    [1999, true],
    [2000, false],
  ] as const) {
    const upload = startUpload({ partBytes: 1000 });
    upload.received.catch(() => {});
    t.equal(upload.sink.write(new Uint8Array(body.subarray(0, headBytes + bytes))), goesOn);
    upload.sink.fail(new Error('enough'));
  }
});

t.test('what is queued when an upload fails is not written any more', async (t) => {
  const writer = new RecordingWriter();
  let open: () => void = () => {};
  let calls = 0;
  writer.gate = () => {
    calls++;
    return new Promise((resolve) => {
      open = resolve;
    });
  };
  const upload = startUpload({ partBytes: 1000, writer });
  upload.sink.write(new Uint8Array(body.subarray(0, 5000)));
  await turn();
  upload.sink.fail(new Error('gone'));
  open();
  await t.rejects(upload.received, { message: 'gone' });
  t.equal(calls, 1);
  t.equal(writer.aborted, 1);
});

t.test('a slow store gets every byte, out of two buffers that are used again and again', async (t) => {
  for (const chunkBytes of [1, 77, 999, 1000, 1001, 5000, 200_000]) {
    const writer = new RecordingWriter();
    writer.gate = async () => {
      await turn();
    };
    const chunks = chunkBytes === 1 ? inChunks(body.subarray(0), 1) : inChunks(body, chunkBytes);
    const { body: socket } = await receive(chunks, { partBytes: 1000, writer });
    t.ok(writer.content.equals(content), `chunks of ${chunkBytes}`);
    t.equal(writer.buffers.size, 2);
    t.equal(socket.reserved, 2000, 'memory is accounted for');
    t.equal(writer.parts.length, 100);
    t.ok(writer.parts.every((part) => part.byteLength === 1000));
  }
});

t.test('all parts but the last have the size the store asked for', async (t) => {
  const { writer } = await receive(inChunks(body, 513), { partBytes: 1024 });
  t.strictSame(
    writer.parts.map((part) => part.byteLength),
    [...Array(97).fill(1024), 100_000 - 97 * 1024],
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
  t.equal(upload.body.reserved, 2000);
  begin();
  await sending;
  await upload.received;
  t.ok(writer.content.equals(content));
});

t.test('an upload takes no more memory than its body is long', async (t) => {
  for (const [length, expected] of [
    [body.byteLength, body.byteLength],
    [1_000_000, 128 * 1024],
  ] as const) {
    const socket = new FakeBody(length);
    const { writer } = await receive(inChunks(body, 10_000), { partBytes: 64 * 1024, body: socket });
    t.ok(writer.content.equals(content));
    t.ok(socket.reserved <= expected, `${socket.reserved} of ${expected}`);
    t.ok(writer.buffers.size <= 2);
  }
});

t.test('a boundary that is longer than a part fits', async (t) => {
  const boundary = 'b'.repeat(70);
  const lookAlike = Buffer.from(`\r\n--${'b'.repeat(69)}`.repeat(20));
  const form = formBody(boundary, [{ name: 'file', fileName: 'a', content: lookAlike }]);
  for (const chunkBytes of [1, 5, 71, 1000]) {
    const { writer } = await receive(inChunks(form, chunkBytes), { boundary, partBytes: 16 });
    t.ok(writer.content.equals(lookAlike), `chunks of ${chunkBytes}`);
    t.ok(writer.buffers.size <= 2);
  }
});
