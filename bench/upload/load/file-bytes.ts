import { createCipheriv } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * Generates the bytes of files from one random buffer, which every file reads in a circle from a different offset. Two
 * files differ at every position, and the period divides no part size, so swapped parts, mixed-up uploads and shifted
 * bytes all change the checksum.
 */
const period = 9_437_189;
const sliceBytes = 1024 * 1024;
/** Coprime to the period, so that seeds below it begin at different places. */
const stride = 1_000_003;

const circle = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(period));

/** The file's bytes in order, as views of the buffer, which must not be changed. */
export function* fileSlices(seed: number, size: number, from = 0): Generator<Buffer> {
  let at = (seed * stride + from) % period;
  for (let rest = size - from; rest > 0; ) {
    const bytes = Math.min(rest, sliceBytes, period - at);
    yield circle.subarray(at, at + bytes);
    rest -= bytes;
    at = (at + bytes) % period;
  }
}

export function fileCrc32(seed: number, size: number): number {
  let checksum = 0;
  for (const slice of fileSlices(seed, size)) checksum = crc32(slice, checksum);
  return checksum;
}
