import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import t from 'tap';
import { combineCrc32 } from '#objects/crc32-combine.ts';
import '../services/test-size.ts';

t.test('the checksum of two pieces is that of the whole', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5000 }), fc.uint8Array({ maxLength: 5000 }), (a, b) => {
      const whole = crc32(Buffer.concat([a, b]));
      return combineCrc32(crc32(a), crc32(b), b.byteLength) === whole;
    }),
  );
  t.pass();
});

t.test('known values', async (t) => {
  // the check value of CRC-32/ISO-HDLC
  t.equal(combineCrc32(crc32('12345'), crc32('6789'), 4), 0xcbf43926);
  t.equal(combineCrc32(0, crc32('123456789'), 9), 0xcbf43926);
  t.equal(combineCrc32(crc32('123456789'), 0, 0), 0xcbf43926);
  t.equal(combineCrc32(0, 0, 0), 0);
});

t.test('lengths around a megabyte', async (t) => {
  const prefix = crc32('prefix');
  for (const length of [2 ** 20 - 1, 2 ** 20, 2 ** 20 + 1, 8 * 2 ** 20 + 12345]) {
    const zeros = Buffer.alloc(length);
    t.equal(combineCrc32(prefix, crc32(zeros), length), crc32(zeros, prefix));
  }
});

t.test('lengths beyond 32 bits are those of their halves', async (t) => {
  /** CRC-32 of so many zeros, by doubling: nobody can compute it byte by byte. */
  const zeros = (length: number): number => {
    if (length < 1024) return crc32(Buffer.alloc(length));
    const half = Math.floor(length / 2);
    const crc = zeros(half);
    const even = combineCrc32(crc, crc, half);
    return length % 2 === 0 ? even : combineCrc32(even, crc32(Buffer.alloc(1)), 1);
  };
  const crc = crc32('what came before');
  for (const length of [2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 5 * 2 ** 40, 5 * 2 ** 40 - 1]) {
    const whole = combineCrc32(crc, zeros(length), length);
    for (const first of [1, 2 ** 20, 2 ** 32 - 5, length - 1].filter((first) => first <= length)) {
      const step = combineCrc32(crc, zeros(first), first);
      t.equal(combineCrc32(step, zeros(length - first), length - first), whole, `${first} of ${length}`);
    }
  }
});

t.test('the result does not depend on how the bytes are divided', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 20 }), (pieces) => {
      let combined = 0;
      for (const piece of pieces) combined = combineCrc32(combined, crc32(piece), piece.byteLength);
      return combined === crc32(Buffer.concat(pieces));
    }),
  );
  t.pass();
});
