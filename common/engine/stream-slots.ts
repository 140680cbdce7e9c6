import type { ReadLimits } from '#kernel/config/settings.ts';
import { overloaded } from '#kernel/errors/catalogue.ts';
import { type ReaderSlot, ReaderSlots } from '#kernel/limits/reader-slots.ts';

/** Bytes that a reader gets at once: small enough to tell a slow reader from a stalled one. */
const pieceSize = 64 * 1024;

/** Slots for result streams. An account may have half of them. */
export function createStreamSlots(args: {
  readonly limit: number;
  readonly queueLimit: number;
  readonly limits: Pick<ReadLimits, 'minRate' | 'minRatePeriod'>;
}): ReaderSlots {
  const { limit, queueLimit, limits } = args;
  const { minRate, minRatePeriod: ratePeriod } = limits;
  return new ReaderSlots({
    limit,
    queueLimit,
    minRate,
    ratePeriod,
    lendsAll: false,
    full: 'too many reads wait',
  });
}

/** Splits chunks into small pieces, and measures the reader. A slow reader gets a 503, and the engine stops. */
export function paced(slot: ReaderSlot, chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const source = chunks[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array();
  let error: Error | null = null;
  slot.awaitsSource = false;
  slot.onCut = () => {
    error = overloaded('the answer was read too slowly while others waited');
    rest = new Uint8Array();
    // a failure of the engine no longer matters
    source.return?.().catch(() => {});
  };
  const next = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
    if (error !== null) throw error;
    while (rest.byteLength === 0) {
      slot.awaitsSource = true;
      try {
        const chunk = await source.next();
        if (error !== null) throw error;
        if (chunk.done === true) return { done: true, value: undefined };
        rest = chunk.value;
      } finally {
        slot.awaitsSource = false;
      }
    }
    const value = rest.subarray(0, pieceSize);
    rest = rest.subarray(pieceSize);
    slot.sent(value.byteLength);
    return { done: false, value };
  };
  return {
    [Symbol.asyncIterator]: () => ({
      next,
      async return() {
        await source.return?.();
        return { done: true, value: undefined };
      },
    }),
  };
}
