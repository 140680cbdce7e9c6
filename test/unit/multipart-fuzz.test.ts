import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import t from 'tap';
import { ApiError } from '#kernel/errors/api-error.ts';
import { formBody, inChunks, RecordingWriter, receive, startUpload } from '../services/multipart-harness.ts';
import { sized } from '../services/test-size.ts';

const boundaries = fc.stringMatching(/^[A-Za-z0-9'()+_,./:=? -]{0,40}[A-Za-z0-9]$/);
/** Bytes that are full of what a boundary and its line ends are made of. */
const boundaryLike = fc
  .array(fc.constantFrom('\r', '\n', '\r\n', '-', '--', 'B', 'Bo', '\r\n--', '\r\n--Bo', 'x', '\0', 'é'), {
    maxLength: 60,
  })
  .map((pieces) => Buffer.from(pieces.join('')));
const contents = fc.oneof(
  boundaryLike,
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
);

/** Cuts bytes into chunks whose sizes repeat a pattern. */
function* cut(bytes: Uint8Array, sizes: readonly number[]): Generator<Uint8Array> {
  let at = 0;
  for (let i = 0; at < bytes.byteLength; i++) {
    const size = sizes[i % sizes.length] as number;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

const chunkSizes = fc.array(fc.integer({ min: 1, max: 80 }), { minLength: 1, maxLength: 8 });
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

t.test(
  'a good body gives the very bytes of its file, however it arrives and however slow the store is',
  async (t) => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          boundary: boundaries,
          content: contents,
          fields: fc.array(contents, { maxLength: 3 }),
          filePosition: fc.nat(3),
          sizes: chunkSizes,
          partBytes: fc.integer({ min: 1, max: 200 }),
          slow: fc.boolean(),
          preamble: fc.constantFrom('', 'preamble\r\n', '\r\n'),
          epilogue: fc.constantFrom('', '\r\n', 'epilogue'),
        }),
        async ({ boundary, content, fields, filePosition, sizes, partBytes, slow, preamble, epilogue }) => {
          const delimiter = `\r\n--${boundary}`;
          const clean = (bytes: Buffer) => !Buffer.concat([Buffer.from('\r\n'), bytes]).includes(delimiter);
          fc.pre([content, ...fields].every(clean));
          const parts = fields.map((field, i) => ({ name: `f${i}`, content: field as Uint8Array }));
          parts.splice(filePosition, 0, { name: 'file', fileName: 'a', content } as (typeof parts)[number]);
          const body = Buffer.concat([
            Buffer.from(preamble),
            formBody(boundary, parts),
            Buffer.from(epilogue),
          ]);
          const writer = new RecordingWriter();
          if (slow) writer.gate = turn;
          const { file } = await receive(cut(body, sizes), { boundary, partBytes, writer });
          if (!writer.content.equals(content)) throw new Error('the bytes differ');
          if (file.size !== content.byteLength || file.crc32 !== crc32(content))
            throw new Error('wrong sums');
          if (writer.aborted > 0) throw new Error('aborted');
        },
      ),
      { numRuns: sized(1500) },
    );
    t.pass('any body');
  },
);

/** Pieces of a form in any order: most make broken bodies, some good ones. */
const pieces = fc.array(
  fc.oneof(
    fc.constantFrom(
      '--B\r\n',
      '\r\n--B\r\n',
      '\r\n--B--',
      '--B--\r\n',
      '\r\n--B',
      '-',
      '\r\n',
      '\n',
      '\r\n\r\n',
      'Content-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n',
      'Content-Disposition: form-data; name="x"\r\n\r\n',
      'Content-Disposition: form-data; name="file"; filename*=UTF-8\'\'%ff\r\n\r\n',
      'Content-Disposition: form-data; name="file"; filename="',
      'Content-Type: text/plain\r\n',
      ': empty\r\n',
      ' folded\r\n',
    ),
    fc.string({ maxLength: 30 }),
    fc.string({ unit: 'binary', maxLength: 30 }),
  ),
  { maxLength: 14 },
);

t.test('any body settles once, as a file or as an error that the client may see', async (t) => {
  const outcomes = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(
      pieces,
      chunkSizes,
      fc.integer({ min: 1, max: 100 }),
      async (texts, sizes, partBytes) => {
        const upload = startUpload({ partBytes, maxFileBytes: 200, maxBodyBytes: 600 });
        const sending = upload.send(cut(Buffer.from(texts.join('')), sizes));
        const outcome = await upload.received.then(
          (file) => {
            file.release();
            return 'file';
          },
          (error: unknown) => {
            if (!(error instanceof ApiError) || error.status >= 500) throw error;
            return error.code;
          },
        );
        await sending;
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        const expected = outcome === 'file' ? 0 : upload.begun.length;
        if (upload.writer.aborted !== expected) throw new Error(`aborted ${upload.writer.aborted} times`);
      },
    ),
    { numRuns: sized(5000) },
  );
  t.comment(JSON.stringify(Object.fromEntries(outcomes)));
  t.ok((outcomes.get('invalid_multipart') ?? 0) > sized(100), 'broken bodies were among them');
});

t.test('a good body with some bytes changed, dropped or doubled settles', async (t) => {
  const good = formBody('Boundary', [
    { name: 'x', content: 'field' },
    { name: 'file', fileName: 'a.txt', headers: ['Content-Type: text/plain'], content: 'hello\r\n--world' },
  ]);
  const change = fc.record({
    at: fc.nat(good.byteLength - 1),
    remove: fc.integer({ min: 0, max: 3 }),
    insert: fc.uint8Array({ maxLength: 3 }),
  });
  let files = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), chunkSizes, async (changes, sizes) => {
      let body: Buffer = good;
      for (const { at, remove, insert } of changes) {
        body = Buffer.concat([body.subarray(0, at), insert, body.subarray(at + remove)]);
      }
      const upload = startUpload({ boundary: 'Boundary', partBytes: 8 });
      const sending = upload.send(cut(body, sizes));
      await upload.received.then(
        (file) => {
          file.release();
          files++;
        },
        (error: unknown) => {
          if (!(error instanceof ApiError) || error.status !== 400) throw error;
        },
      );
      await sending;
      const settled = upload.writer.aborted;
      if (settled > 1) throw new Error('aborted twice');
    }),
    { numRuns: sized(3000) },
  );
  t.ok(files > 0, `${files} were still forms`);
});

t.test('a client that goes away at any point aborts what began', async (t) => {
  const body = formBody('B', [{ name: 'file', fileName: 'a', content: Buffer.alloc(500, 'x') }]);
  await fc.assert(
    fc.asyncProperty(fc.nat(body.byteLength), chunkSizes, fc.boolean(), async (length, sizes, slow) => {
      const writer = new RecordingWriter();
      if (slow) writer.gate = turn;
      const upload = startUpload({ partBytes: 64, writer });
      let failed = false;
      for (const chunk of cut(body.subarray(0, length), sizes)) {
        const resumed = upload.body.resumed();
        if (!upload.sink.write(new Uint8Array(chunk))) {
          if (slow) break;
          await resumed;
        }
      }
      upload.sink.fail(new Error('gone'));
      await upload.received.catch(() => {
        failed = true;
      });
      if (!failed) throw new Error('an upload without its end succeeded');
      if (writer.aborted !== upload.begun.length) throw new Error(`aborted ${writer.aborted} times`);
    }),
    { numRuns: sized(500) },
  );
  t.pass('at any point');
});

t.test('the whole of a large body passes through small chunks', async (t) => {
  const content = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i ^ (i >> 7)) & 0xff));
  const { writer } = await receive(inChunks(formBody('B', [{ name: 'file', fileName: 'a', content }]), 1021));
  t.ok(writer.content.equals(content));
});
