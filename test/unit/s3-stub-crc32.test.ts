import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import t from 'tap';
import { crc32Combine, crc32FromBase64, crc32ToBase64 } from '../services/s3-stub/crc32-combine.ts';
import { sized } from '../services/test-size.ts';

t.test('the combined CRC-32 is the one of the bytes in a row', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 6 }), (pieces) => {
      const combined = pieces.reduce((sum, piece) => crc32Combine(sum, crc32(piece), piece.length), 0);
      return combined === crc32(Buffer.concat(pieces));
    }),
    { numRuns: sized(1000) },
  );
  // the check value of CRC-32/ISO-HDLC, cut anywhere
  const text = '123456789';
  for (let at = 0; at <= text.length; at++) {
    t.equal(
      crc32Combine(crc32(text.slice(0, at)), crc32(text.slice(at)), text.length - at),
      0xcbf43926,
      `cut at ${at}`,
    );
  }
});

t.test('lengths beyond 32 bits count whole', async (t) => {
  const zeros = crc32(Buffer.alloc(2 ** 20));
  let ofZeros = zeros;
  for (let size = 2 ** 20; size < 2 ** 34; size *= 2) ofZeros = crc32Combine(ofZeros, ofZeros, size);
  const before = crc32('before');
  // 2^34 zeros after the text, in one step and in 2^10 steps of 2^24
  let inSteps = before;
  let step = zeros;
  for (let size = 2 ** 20; size < 2 ** 24; size *= 2) step = crc32Combine(step, step, size);
  for (let count = 0; count < 2 ** 10; count++) inSteps = crc32Combine(inSteps, step, 2 ** 24);
  t.equal(crc32Combine(before, ofZeros, 2 ** 34), inSteps);
});

t.test('base64 is of four bytes, high one first', async (t) => {
  t.equal(crc32ToBase64(0xcbf43926), 'y/Q5Jg==');
  t.equal(crc32FromBase64('y/Q5Jg=='), 0xcbf43926);
  t.equal(crc32FromBase64('AAAAAA=='), 0);
  for (const text of ['', 'y/Q5Jg', 'y/Q5Jh==', 'y/Q5JgAA', '!!!!!!==']) {
    t.equal(crc32FromBase64(text), null, JSON.stringify(text));
  }
});
