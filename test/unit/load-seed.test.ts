import t from 'tap';
import type { MixSpace } from '#load/mix/mix.ts';
import { ByteCheck, sliceOf, slicesOf, stepBytes } from '#load/seed/bytes.ts';
import { hashOf, hashOfText } from '#load/seed/hash.ts';
import { recordOf } from '#load/seed/records.ts';

const size = 5 * stepBytes + 321;

function fileOf(seed: number, index: number, from = 0, to = size): Buffer {
  return Buffer.concat([...slicesOf(seed, index, from, to)]);
}

t.test('a file has the same bytes however it is read', async (t) => {
  const whole = fileOf(1, 7);
  t.equal(whole.byteLength, size);
  for (const [from, to] of [
    [0, 1],
    [stepBytes - 1, stepBytes + 1],
    [3 * stepBytes, size],
    [12_345, 234_567],
  ] as const) {
    t.ok(whole.subarray(from, to).equals(fileOf(1, 7, from, to)), `${from} to ${to}`);
  }
  t.equal(sliceOf(1, 7, stepBytes - 10, 100).byteLength, 10, 'a slice ends with its step');
  t.strictSame([...slicesOf(1, 7, 0, 0)], [], 'an empty file has none');
  // a load with the same seed is the same everywhere and in every version
  t.equal(sliceOf(1, 7, 0, 8).toString('hex'), '2179e8f9b795408e');
});

t.test('files, seeds and steps differ', async (t) => {
  const texts = [fileOf(1, 7), fileOf(1, 8), fileOf(2, 7), fileOf(1, 7 + 2 ** 32)];
  for (let at = 0; at < size; at += stepBytes) {
    for (const whole of texts) t.not(Buffer.compare(whole.subarray(at, at + 100), fileOf(1, 9, 0, 100)), 0);
  }
  t.equal(new Set(texts.map((whole) => whole.toString('latin1', 0, 100))).size, texts.length);
});

t.test('a check finds the first byte that differs', async (t) => {
  const right = fileOf(3, 4);
  for (const offset of [0, stepBytes - 1, stepBytes, size - 1]) {
    const bytes = Buffer.from(right);
    bytes[offset] = (bytes[offset] as number) ^ 1;
    const check = new ByteCheck(3, 4);
    // pieces that cross steps
    for (let at = 0; at < size; at += 50_000) check.add(bytes.subarray(at, at + 50_000));
    t.strictSame(check.wrong, { offset, is: bytes[offset], expected: right[offset] });
    t.equal(check.received, size);
  }
  const range = new ByteCheck(3, 4, 70_000);
  range.add(right.subarray(70_000, 200_000));
  t.equal(range.wrong, null);
  const swapped = new ByteCheck(3, 4);
  swapped.add(right.subarray(stepBytes, 2 * stepBytes));
  t.equal(
    swapped.wrong?.offset,
    right.findIndex((byte, at) => byte !== right[stepBytes + at]),
  );
});

t.test('records follow from the seed', async (t) => {
  const field = { unique: false, values: null, length: null };
  const space: MixSpace = {
    name: 'people',
    records: 0,
    fields: [
      { ...field, name: 'email', type: 'TEXT', unique: true, length: 20 },
      { ...field, name: 'city', type: 'TEXT', values: 10 },
      { ...field, name: 'age', type: 'NUMBER', values: 100 },
      { ...field, name: 'member', type: 'BOOLEAN' },
      { ...field, name: 'since', type: 'DATETIME' },
    ],
  };
  const records = Array.from({ length: 1000 }, (_, index) => recordOf(5, space, index));
  t.strictSame(recordOf(5, { ...space }, 17), records[17]);
  t.notSame(recordOf(6, space, 17), records[17]);
  t.not(recordOf(5, { ...space, name: 'others' }, 17).email, records[17]?.email);
  t.equal(new Set(records.map(({ email }) => email)).size, 1000);
  t.equal(new Set(records.map(({ city }) => city)).size, 10);
  t.equal(new Set(records.map(({ member }) => member)).size, 2);
  t.ok(records.every(({ email }) => (email as string).length === 20));
  t.ok(records.every(({ age }) => (age as number) < 100));
  t.ok(records.every(({ email }) => email === (email as string).trim()));
  t.equal(records[1]?.since, '2020-01-01T00:00:01.000Z');
});

t.test('a hash spreads evenly, and sees all bits', async (t) => {
  const buckets = new Array<number>(16).fill(0);
  for (let at = 0; at < 16_000; at++)
    buckets[hashOf(1, at) % 16] = (buckets[hashOf(1, at) % 16] as number) + 1;
  t.ok(Math.min(...buckets) > 800 && Math.max(...buckets) < 1200, `${buckets}`);
  t.not(hashOf(1, 2), hashOf(2, 1));
  t.not(hashOf(1), hashOf(1 + 2 ** 40));
  t.not(hashOfText(1, 'ab'), hashOfText(1, 'ba'));
});
