import { randomFillSync } from 'node:crypto';

/** Ids whose random bytes are drawn together: two for the counter and eight for the rest. */
const pooledIds = 512;
const idBytes = 10;

/**
 * Makes monotonic UUIDv7s (RFC 9562 section 5.7), even within a millisecond and when the clock goes back: `rand_a` is a
 * counter (section 6.2 method 1), and 62 bits are random. When the counter overflows, ids use the next millisecond. So
 * the first 64 bits order the ids of a process.
 * @param args.now milliseconds since 1970
 */
export function createUuidV7({ now = Date.now }: { now?: () => number } = {}): () => string {
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
      // the lower half leaves room to count up
      counter = pool.readUInt16BE(offset) % 2048;
    } else if (++counter === 4096) {
      last++;
      prefix = timeText(last);
      counter = 0;
    }
    const version = (0x7000 | counter).toString(16);
    const variant = (0x8000 | (pool.readUInt16BE(offset + 2) & 0x3fff)).toString(16);
    // V8 flattens short pieces at once; otherwise it would keep every piece of many ids
    const middle = `-${version}-${variant}-`;
    return prefix + middle + hex.slice(2 * offset + 8, 2 * (offset + idBytes));
  };
}

function timeText(time: number): string {
  const high = time.toString(16).padStart(12, '0');
  return `${high.slice(0, 8)}-${high.slice(8)}`;
}
