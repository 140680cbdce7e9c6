import { randomFillSync } from 'node:crypto';

const poolBytes = 4096;
const idBytes = 8;

/**
 * Makes UUIDv7s (RFC 9562 section 5.7) that only grow, also within a millisecond and when the clock goes back: after
 * the time stands a counter (section 6.2 method 1), in `rand_a` and the first 14 bits of `rand_b`; 48 bits stay random.
 * @param args.now milliseconds since 1970
 * @param args.counterLimit at most 26 bits; a new millisecond begins in the lower half, so there is room to count up
 */
export function createUuidV7(args: { now?: () => number; counterLimit?: number } = {}): () => string {
  const { now = Date.now, counterLimit = 2 ** 26 } = args;
  const pool = Buffer.alloc(poolBytes);
  let used = poolBytes;
  let last = 0;
  let counter = 0;

  return () => {
    if (used === poolBytes) {
      randomFillSync(pool);
      used = 0;
    }
    const offset = used;
    used += idBytes;
    const time = now();
    if (time > last) {
      last = time;
      counter = pool.readUInt32BE(offset) % (counterLimit / 2);
    } else if (++counter === counterLimit) {
      last++;
      counter = 0;
    }
    const high = last.toString(16).padStart(12, '0');
    const random = pool.subarray(offset + 2, offset + idBytes).toString('hex');
    const version = (0x7000 | (counter >>> 14)).toString(16);
    const variant = (0x8000 | (counter & 0x3fff)).toString(16);
    return `${high.slice(0, 8)}-${high.slice(8)}-${version}-${variant}-${random}`;
  };
}
