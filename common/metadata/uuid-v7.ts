import { randomFillSync } from 'node:crypto';

/** Random bits of so many ids are made at once: 64 bits each, of which 48 stand in the id. */
const pooledIds = 512;
const idBytes = 8;

/**
 * Makes UUIDv7s (RFC 9562 section 5.7) that only grow, also within a millisecond and when the clock goes back: after
 * the time stands a counter (section 6.2 method 1), in `rand_a` and the first 14 bits of `rand_b`; 48 bits stay random.
 * @param args.now milliseconds since 1970
 * @param args.counterLimit at most 26 bits; a new millisecond begins in the lower half, so there is room to count up
 */
export function createUuidV7(args: { now?: () => number; counterLimit?: number } = {}): () => string {
  const { now = Date.now, counterLimit = 2 ** 26 } = args;
  const pool = Buffer.alloc(pooledIds * idBytes);
  /** The pool as text: one call makes it for all of its ids. */
  let hex = '';
  let used = pool.byteLength;
  let last = 0;
  let prefix = '';
  let counter = 0;

  return () => {
    if (used === pool.byteLength) {
      randomFillSync(pool);
      hex = pool.toString('hex');
      used = 0;
    }
    const offset = used;
    used += idBytes;
    const time = now();
    if (time > last) {
      last = time;
      prefix = timeText(last);
      counter = pool.readUInt32BE(offset) % (counterLimit / 2);
    } else if (++counter === counterLimit) {
      last++;
      prefix = timeText(last);
      counter = 0;
    }
    const version = (0x7000 | (counter >>> 14)).toString(16);
    const variant = (0x8000 | (counter & 0x3fff)).toString(16);
    // of short pieces, which V8 joins at once: of many ids it would keep every piece otherwise
    const middle = `-${version}-${variant}-`;
    return prefix + middle + hex.slice(2 * offset + 4, 2 * (offset + idBytes));
  };
}

function timeText(time: number): string {
  const high = time.toString(16).padStart(12, '0');
  return `${high.slice(0, 8)}-${high.slice(8)}`;
}
