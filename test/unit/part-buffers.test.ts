import t from 'tap';
import { PartBuffers } from '../../gateway/multipart/part-buffers.ts';
import { RecordingWriter } from '../services/multipart-harness.ts';

function newBuffers(maxBytes = Number.POSITIVE_INFINITY) {
  return new PartBuffers({
    partBytes: 100,
    maxBytes,
    reserveMemory: () => true,
    onRoom: () => {},
    onError: (error) => {
      throw error;
    },
  });
}

t.test('what is written beyond the room is kept, in order', async (t) => {
  const writer = new RecordingWriter();
  const buffers = newBuffers();
  const bytes = Buffer.from(Array.from({ length: 355 }, (_, i) => i & 0xff));
  buffers.start(Promise.resolve(writer));
  buffers.write(bytes.subarray(0, 250));
  t.equal(buffers.room(), 0);
  buffers.write(bytes.subarray(250));
  t.equal(await buffers.finish(), writer);
  t.ok(writer.content.equals(bytes));
  t.strictSame(
    writer.parts.map((part) => part.byteLength),
    [100, 100, 100, 55],
  );
  t.equal(writer.buffers.size, 2);
});

t.test('room is what is left of the buffer at hand', async (t) => {
  const buffers = newBuffers(150);
  buffers.start(Promise.resolve(new RecordingWriter()));
  t.equal(buffers.room(), 100);
  buffers.write(Buffer.alloc(30));
  t.equal(buffers.room(), 70);
  buffers.write(Buffer.alloc(70));
  t.equal(buffers.room(), 50, 'no more than the object can be long');
  await buffers.finish();
});

t.test('an object without bytes is not written to', async (t) => {
  const writer = new RecordingWriter();
  const buffers = newBuffers();
  buffers.start(Promise.resolve(writer));
  await buffers.finish();
  t.strictSame(writer.parts, []);
});

t.test('abort before anything began resolves', async (t) => {
  await t.resolves(newBuffers().abort());
});
