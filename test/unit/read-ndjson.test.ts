/** NDJSON of a request while it arrives: its pieces, and the memory that it claims. */
import t from 'tap';
import { createBodyMemory } from '#server/http/body-memory.ts';
import { maxBodyValues } from '#server/http/json-scanner.ts';
import { readNdjson } from '../../query/operations/read-ndjson.ts';
import { bodyFeeder, nextTurn } from '../services/fed-body.ts';

const limit = 4 * 1024 * 1024;

function begin(contentLength?: number, memory = createBodyMemory()) {
  const fed = bodyFeeder(memory)(contentLength);
  fed.body.identify('ada');
  let isOver = false;
  const reading = readNdjson(fed.request, limit).finally(() => {
    isOver = true;
  });
  reading.catch(() => {});
  /** Pushes bytes as a socket would: only while it is read. */
  const send = async (bytes: Uint8Array, { size = 65_536, last = true } = {}): Promise<void> => {
    for (let at = 0; at < bytes.byteLength && !isOver; at += size) {
      fed.push(bytes.subarray(at, at + size), size, last && at + size >= bytes.byteLength);
      while (!fed.reading && !fed.body.complete && !isOver) await nextTurn();
    }
  };
  return { fed, memory, reading, send };
}

const lines = (count: number, record: object = { a: 1, b: 'é' }): Uint8Array =>
  Buffer.from(`${JSON.stringify(record)}\n`.repeat(count));

t.test('pieces of any size, with a length and without', async (t) => {
  for (const size of [1, 7, 1000, 65_536, 500_000]) {
    const bytes = lines(size === 1 ? 50 : 20_000);
    for (const length of [bytes.byteLength, undefined]) {
      const { reading, send } = begin(length);
      await send(bytes, { size });
      const records = await reading;
      t.equal(records.length, size === 1 ? 50 : 20_000, `${size}, ${length}`);
      t.strictSame(records.at(-1), { a: 1, b: 'é' });
    }
  }
});

t.test(
  'memory of the bytes is released with the last line, and of the values with the request',
  async (t) => {
    const bytes = lines(20_000);
    const { fed, memory, reading, send } = begin(bytes.byteLength);
    t.equal(memory.large.used, bytes.byteLength);
    await send(bytes);
    await reading;
    t.equal(memory.large.used + memory.small.used, 0);
    const values = 3 * 20_000;
    t.ok(memory.values.used >= values && memory.values.used <= 1.5 * values, `${memory.values.used} values`);
    fed.body.releaseMemory();
    t.equal(memory.values.used, 0);
  },
);

t.test('a small body claims no values', async (t) => {
  const { memory, reading, send } = begin();
  await send(lines(100));
  t.equal((await reading).length, 100);
  t.equal(memory.values.used, 0);
});

t.test('a body waits for values before it is read on', async (t) => {
  const memory = createBodyMemory();
  const all = memory.values.tryClaim('grace', maxBodyValues);
  const more = memory.values.tryClaim('ella', maxBodyValues);
  const bytes = lines(20_000);
  const { fed, reading, send } = begin(bytes.byteLength, memory);
  fed.push(bytes.subarray(0, 200_000), 200_000);
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  t.notOk(fed.reading);
  all?.release();
  await send(bytes.subarray(200_000));
  t.equal((await reading).length, 20_000);
  more?.release();
});

t.test('a body that becomes denser claims more, or is refused', async (t) => {
  const begun = lines(100, { text: 'x'.repeat(1000) });
  const dense = lines(60_000, { a: 1, b: 2 });
  for (const isFree of [true, false]) {
    const memory = createBodyMemory();
    const { reading, send } = begin(begun.byteLength + dense.byteLength, memory);
    await send(begun, { last: false });
    for (let turn = 0; turn < 1000 && memory.values.used === 0; turn++) await nextTurn();
    const before = memory.values.used;
    if (!isFree) memory.values.tryClaim('ada', maxBodyValues - before);
    const sending = send(dense);
    if (isFree) {
      await sending;
      t.equal((await reading).length, 60_100);
      t.ok(memory.values.used >= 180_000 && memory.values.used > before);
    } else await t.rejects(reading, { code: 'overloaded' });
  }
});

t.test('what a body may not have', async (t) => {
  for (const [what, bytes, problem] of [
    ['many empty lines', Buffer.alloc(maxBodyValues + 1, '\n'), /more than 2500000 values/],
    [
      'a long record',
      Buffer.from(`{"a":[${'1,'.repeat(100_001)}1]}`),
      /A record has more than 100000 values/,
    ],
    [
      'an object with many keys',
      Buffer.from(`{${Array.from({ length: 10_001 }, (_, at) => `"k${at}":1`).join()}}`),
      /more than 10000 keys/,
    ],
  ] as const) {
    const { reading, send } = begin(bytes.byteLength);
    await send(bytes);
    await t.rejects(reading, { status: 400, message: problem }, what);
  }
});

t.test('a body that fails ends the reading, at once or while it waits for values', async (t) => {
  for (const isWaiting of [false, true]) {
    const memory = createBodyMemory();
    if (isWaiting) {
      memory.values.tryClaim('grace', maxBodyValues);
      memory.values.tryClaim('ella', maxBodyValues);
    }
    const { fed, reading } = begin(1_000_000, memory);
    fed.push(lines(10_000), 200_000);
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    fed.body.fail(new Error('the client left'));
    await t.rejects(reading, { message: 'the client left' });
    t.equal(memory.large.used + memory.small.used, 0);
  }
});
