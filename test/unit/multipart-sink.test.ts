import { crc32 } from 'node:zlib';
import t, { type Test } from 'tap';
import { ApiError } from '#kernel/errors/api-error.ts';
import {
  type FormPart,
  formBody,
  inChunks,
  RecordingWriter,
  receive,
  startUpload,
} from '../services/multipart-harness.ts';

const hello: FormPart = { name: 'file', fileName: 'a.txt', content: 'hello' };

/** Sends a body that must be refused, and checks that the object, if it has begun, was aborted exactly once. */
async function refused(
  t: Test,
  body: Uint8Array,
  expected: { status?: number; code: string; message?: RegExp },
  args: Parameters<typeof startUpload>[0] = {},
  chunkBytes = 1000,
): Promise<void> {
  const upload = startUpload(args);
  const sent = upload.send(inChunks(body, chunkBytes));
  const error = await upload.received.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  await sent;
  t.ok(error instanceof ApiError, `refused: ${String(error)}`);
  t.match(error, { status: 400, ...expected });
  t.equal(upload.writer.aborted, upload.begun.length, 'what began is aborted once');
  t.equal(upload.writer.completed, 0);
  t.equal(upload.memory.used, 0, 'its memory is given back');
}

t.test('takes the file out of a form', async (t) => {
  const parts = [
    { name: 'before', content: 'field' },
    { ...hello, headers: ['Content-Type: text/plain; charset=x'] },
    { name: 'after', content: '' },
  ];
  const { file, writer, begun } = await receive([formBody('B', parts)]);
  t.equal(writer.content.toString(), 'hello');
  t.match(file, { size: 5, crc32: crc32('hello') });
  t.strictSame(begun, [{ fileName: 'a.txt', contentType: 'text/plain; charset=x', fields: new Map() }]);
  t.strictSame([writer.completed, writer.aborted], [1, 0]);
});

t.test('every split of a body into two chunks gives the same file, and byte by byte too', async (t) => {
  // look-alikes of the boundary, and line ends, where they hurt
  const content = '\r\n--\r\n--A\r\n-\r\r\n--\r\r\n--b--\r\nBoundary\r\n--Boundar\r\n';
  const parts = [
    { name: 'x', content: '\r\n--' },
    { name: 'file', fileName: 'é "q".bin', content },
    { name: 'y', content: 'x--Boundary' },
  ];
  const body = Buffer.concat([
    Buffer.from('preamble\r\n'),
    formBody('Boundary', parts),
    Buffer.from('\r\nepilogue'),
  ]);
  const args = { boundary: 'Boundary', partBytes: 32 };
  // an unescaped quote inside the quotes is malformed
  await refused(t, body, { code: 'invalid_multipart' }, args);
  const good = Buffer.from(body.toString().replace('"é "q".bin"', '"é \\"q\\".bin"'));
  let same = 0;
  for (let at = 0; at <= good.byteLength; at++) {
    const { writer, begun } = await receive([good.subarray(0, at), good.subarray(at)], args);
    if (writer.content.toString() === content && begun[0]?.fileName === 'é "q".bin') same++;
  }
  t.equal(same, good.byteLength + 1);
  const { writer } = await receive(inChunks(good, 1), args);
  t.equal(writer.content.toString(), content);
});

t.test('a file of no bytes is a file', async (t) => {
  const { file, writer } = await receive([formBody('B', [{ ...hello, content: '' }])]);
  t.match(file, { size: 0, crc32: 0 });
  t.strictSame(writer.parts, []);
});

t.test('content is told apart from the boundary', async (t) => {
  const tricky = [
    'x--B',
    '\n--B\n',
    '\r--B',
    '\r\n-B',
    '\r\n--\r\nB',
    '\r\n',
    'x--B--',
    '\r\n\r\n',
    'x\r\n--',
  ];
  for (const content of tricky) {
    const { writer } = await receive(inChunks(formBody('B', [{ ...hello, content }]), 3));
    t.equal(writer.content.toString(), content, JSON.stringify(content));
  }
});

t.test('a boundary of 70 characters, and one of spaces and signs', async (t) => {
  for (const boundary of ['b'.repeat(70), "a 'b'()+_,-./:=? c", '-'.repeat(70)]) {
    const { writer } = await receive(inChunks(formBody(boundary, [hello]), 7), { boundary });
    t.equal(writer.content.toString(), 'hello', boundary);
  }
});

t.test('preamble and epilogue are ignored', async (t) => {
  const form = formBody('B', [hello]);
  for (const [preamble, epilogue] of [
    ['', ''],
    ['This is a message in several parts\r\nfor old readers\r\n', 'the end\r\n--B\r\nnot a part'],
    ['\r\n', '\r\n\r\n'],
  ] as const) {
    const body = Buffer.concat([Buffer.from(preamble), form, Buffer.from(epilogue)]);
    const { writer } = await receive(inChunks(body, 11));
    t.equal(writer.content.toString(), 'hello');
  }
});

t.test('the closing boundary needs no line end after it', async (t) => {
  const form = formBody('B', [hello]);
  const { writer } = await receive([form.subarray(0, -2)]);
  t.equal(writer.content.toString(), 'hello');
});

t.test('a boundary with something behind it is refused, not misread', async (t) => {
  for (const rest of [' \t', 'x', '-', '-x']) {
    const body = Buffer.from(formBody('B', [hello]).toString().replace('--B\r\n', `--B${rest}\r\n`));
    await refused(t, body, { code: 'invalid_multipart' }, {}, 2);
  }
});

t.test('a line of the content that starts with the boundary ends the part', async (t) => {
  // RFC 2046 section 5.1.1: it must not appear there, so what follows is no part
  await refused(t, formBody('B', [{ ...hello, content: 'x\r\n--Bx' }]), { code: 'invalid_multipart' });
  await refused(t, formBody('B', [{ ...hello, content: '--B' }]), { code: 'invalid_multipart' });
});

t.test('file parts of other names are skipped', async (t) => {
  const other = { name: 'other', fileName: 'b.bin', content: Buffer.alloc(2_000_000, 1) };
  const { writer } = await receive(inChunks(formBody('B', [other, hello, other]), 100_000));
  t.equal(writer.content.toString(), 'hello');
});

t.test('nested multipart content of another part is just its bytes', async (t) => {
  const inner = formBody('Inner', [{ name: 'file', fileName: 'inner.txt', content: 'inner' }]);
  const nested = {
    name: 'files',
    headers: ['Content-Type: multipart/mixed; boundary=Inner'],
    content: inner,
  };
  const { writer, begun } = await receive(inChunks(formBody('B', [nested, hello]), 13));
  t.equal(writer.content.toString(), 'hello');
  t.equal(begun.length, 1);
});

t.test('a form without its file is refused', async (t) => {
  const noFile = { code: 'missing_file_part', message: /"file"/ };
  await refused(t, formBody('B', []), noFile);
  await refused(t, formBody('B', [{ name: 'x', content: 'y' }]), noFile);
  await refused(t, formBody('B', [{ name: 'File', fileName: 'a', content: 'y' }]), noFile);
  await refused(t, formBody('B', [{ name: 'file', content: 'a text field' }]), noFile);
});

t.test('two files are refused, wherever they stand', async (t) => {
  const two = { code: 'invalid_multipart', message: /only one file/ };
  await refused(t, formBody('B', [hello, hello]), two);
  await refused(t, formBody('B', [hello, { name: 'x', content: 'y' }, hello]), two, {}, 1);
  await refused(
    t,
    formBody('B', [
      { ...hello, content: '' },
      { ...hello, content: '' },
    ]),
    two,
  );
});

t.test('an empty body is refused', async (t) => {
  await refused(t, Buffer.alloc(0), { code: 'invalid_multipart', message: /empty/ });
});

t.test('a body that is cut anywhere is refused', async (t) => {
  const body = formBody('B', [{ name: 'x', content: 'y' }, hello]);
  // the last dash may come with the line end: up to there the closing boundary is not whole
  for (let length = 1; length < body.byteLength - 2; length++) {
    await refused(t, body.subarray(0, length), { code: 'invalid_multipart', message: /closing boundary/ });
  }
});

t.test('bodies that are no multipart are refused', async (t) => {
  const broken = [
    'hello',
    '{"a":1}',
    '--C\r\n\r\n\r\n--C--\r\n',
    formBody('B', [hello]).toString().replaceAll('\r\n', '\n'),
    '--B\r\n--B--\r\n',
    '--B\r\n\r\n--B--\r\n',
    '--B\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n--B--\r\n',
    '\0'.repeat(100),
  ];
  for (const body of broken) await refused(t, Buffer.from(body), { code: 'invalid_multipart' });
});

t.test('a part without headers after the file drops the file', async (t) => {
  const body = Buffer.from(
    '--B\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nhello\r\n--B\r\n--B--\r\n',
  );
  await refused(t, body, { code: 'invalid_multipart', message: /no headers/ });
});

t.test('a part whose head is broken is refused', async (t) => {
  const heads = [
    ['Content-Type: text/plain'],
    ['Content-Disposition: form-data'],
    ['Content-Disposition: form-data; filename="a"'],
    ['Content-Disposition: attachment; name="file"; filename="a"'],
    ['Content-Disposition: form-data; name="file'],
    ['Content-Disposition: form-data; name="file"; name="file"; filename="a"'],
    ['Content-Disposition: form-data; name="x"', 'Content-Disposition: form-data; name="file"; filename="a"'],
    ['Content-Disposition: form-data; name="file"; filename="a"', 'Content-Transfer-Encoding: base64'],
    ['Content-Disposition: form-data; name="file"; filename*=UTF-8\'\'%ff'],
  ];
  for (const headers of heads) {
    await refused(t, formBody('B', [{ headers, content: 'hello' }, hello]), { code: 'invalid_multipart' });
  }
});

t.test('headers of more than 16 KiB are refused', async (t) => {
  const tooLarge = { code: 'invalid_multipart', message: /headers.*16384/ };
  const long = (length: number) => formBody('B', [{ ...hello, headers: [`X-Long: ${'x'.repeat(length)}`] }]);
  await refused(t, long(17_000), tooLarge);
  await refused(t, long(100_000), tooLarge);
  const many = Array.from({ length: 2000 }, (_, i) => `X-Header-${i}: value`);
  await refused(t, formBody('B', [{ ...hello, headers: many }]), tooLarge, {}, 100);
  const { writer } = await receive([long(15_000)]);
  t.equal(writer.content.toString(), 'hello');
});

t.test('100 parts are enough', async (t) => {
  const field = { name: 'x', content: 'y' };
  const { writer } = await receive([formBody('B', [...Array(99).fill(field), hello])]);
  t.equal(writer.content.toString(), 'hello');
  await refused(t, formBody('B', [hello, ...Array(100).fill(field)]), {
    code: 'invalid_multipart',
    message: /more than 100 parts/,
  });
});

t.test('a field of more than 1 MiB is refused', async (t) => {
  const field = (length: number) => ({ name: 'note', content: Buffer.alloc(length, 'x') });
  const { writer } = await receive(inChunks(formBody('B', [field(1024 * 1024), hello]), 60_000));
  t.equal(writer.content.toString(), 'hello');
  await refused(
    t,
    formBody('B', [hello, field(1024 * 1024 + 1)]),
    { code: 'invalid_multipart', message: /"note".*1048576/ },
    {},
    60_000,
  );
});

t.test('a file of exactly the limit passes, one byte more is 413', async (t) => {
  const args = { maxFileBytes: 5, maxBodyBytes: 1000 };
  const { file } = await receive(inChunks(formBody('B', [hello]), 1), args);
  t.equal(file.size, 5);
  const six = formBody('B', [{ ...hello, content: 'hello!' }]);
  const tooLarge = { status: 413, code: 'payload_too_large', message: /File.* 5 bytes/ };
  await refused(t, six, tooLarge, args);
  await refused(t, six, tooLarge, args, 1);
});

t.test('the file limit holds while the body is still arriving', async (t) => {
  const upload = startUpload({ maxFileBytes: 100 });
  const body = formBody('B', [{ ...hello, content: 'x'.repeat(1000) }]);
  const answered = upload.sink.write(new Uint8Array(body.subarray(0, 600)));
  t.equal(answered, false, 'reads no more');
  await t.rejects(upload.received, { code: 'payload_too_large' });
  t.equal(upload.sink.write(new Uint8Array(body.subarray(600))), false);
  upload.sink.end();
  upload.sink.fail(new Error('late'));
  t.equal(upload.writer.aborted, 1);
});

t.test('a body beyond its limit is 413, whatever it holds', async (t) => {
  const args = { maxFileBytes: 100, maxBodyBytes: 1000 };
  const tooLarge = { status: 413, code: 'payload_too_large', message: /Request body.* 1000 bytes/ };
  await refused(t, Buffer.alloc(2000), tooLarge, args, 10);
  const epilogue = Buffer.concat([formBody('B', [hello]), Buffer.alloc(2000)]);
  await refused(t, epilogue, tooLarge, args, 10);
  const other = { name: 'other', fileName: 'b', content: 'x'.repeat(2000) };
  await refused(t, formBody('B', [other]), tooLarge, args, 10);
});

t.test('a client that goes away aborts the object once', async (t) => {
  const body = formBody('B', [hello]);
  for (const length of [0, 10, body.byteLength - 20, body.byteLength - 10, body.byteLength]) {
    const upload = startUpload();
    if (length > 0) upload.sink.write(new Uint8Array(body.subarray(0, length)));
    upload.sink.fail(new Error('gone'));
    upload.sink.fail(new Error('gone twice'));
    await t.rejects(upload.received, { message: 'gone' });
    t.equal(upload.writer.aborted, upload.begun.length);
  }
});

t.test('a form is not taken for whole before its body has ended', async (t) => {
  const upload = startUpload();
  upload.sink.write(new Uint8Array(formBody('B', [hello])));
  await new Promise((resolve) => setImmediate(resolve));
  upload.sink.fail(new Error('gone'));
  await t.rejects(upload.received, { message: 'gone' });
  t.equal(upload.writer.aborted, 1);
});

t.test('a store that fails to begin or to write fails the upload', async (t) => {
  const body = formBody('B', [{ ...hello, content: 'x'.repeat(1000) }]);
  const noBegin = startUpload({
    partBytes: 100,
    begin: async () => {
      throw new Error('no space');
    },
  });
  await Promise.all([noBegin.send(inChunks(body, 50)), t.rejects(noBegin.received, { message: 'no space' })]);

  const writer = new RecordingWriter();
  let writes = 0;
  writer.gate = async () => {
    if (++writes === 3) throw new Error('no space');
  };
  const noWrite = startUpload({ partBytes: 100, writer });
  await Promise.all([noWrite.send(inChunks(body, 50)), t.rejects(noWrite.received, { message: 'no space' })]);
  t.equal(writer.aborted, 1);
  t.equal(writes, 3, 'nothing is written after a failure');
});

t.test('a failure aborts the signal that the object began with', async (t) => {
  let seen: AbortSignal | undefined;
  const writer = new RecordingWriter();
  const upload = startUpload({
    begin: async (_, signal) => {
      seen = signal;
      return writer;
    },
  });
  upload.sink.write(new Uint8Array(formBody('B', [hello])));
  t.equal(seen?.aborted, false);
  upload.sink.fail(new Error('gone'));
  await t.rejects(upload.received, { message: 'gone' });
  t.equal(seen?.aborted, true);
  t.equal(writer.aborted, 1);
});

t.test('an object that begins only after the failure is aborted as well', async (t) => {
  const writer = new RecordingWriter();
  let begin: (writer: RecordingWriter) => void = () => {};
  const upload = startUpload({
    begin: () =>
      new Promise((resolve) => {
        begin = resolve;
      }),
  });
  upload.sink.write(new Uint8Array(formBody('B', [hello])));
  upload.sink.fail(new Error('gone'));
  begin(writer);
  await t.rejects(upload.received, { message: 'gone' });
  t.equal(writer.aborted, 1);
});
