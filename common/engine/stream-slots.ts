import type { ReadLimits } from '#kernel/config/settings.ts';
import { overloaded } from '#kernel/errors/catalogue.ts';
import { FairShare } from '#kernel/limits/fair-share.ts';

/** Bytes that a reader gets at once: this distinguishes a slow reader from one that stalls. */
const pieceSize = 64 * 1024;

/**
 * A semaphore for streams, fair between accounts: each has half of the slots at most, and the one that holds least comes
 * first. While a stream waits, a reader below the minimum rate is cut, which frees its slot and the engine behind it.
 */
export class StreamSlots {
  readonly #slots: FairShare;
  readonly #limits: Pick<ReadLimits, 'minRate' | 'minRatePeriod'>;
  readonly #held = new Set<StreamSlot>();
  #timer: NodeJS.Timeout | null = null;

  constructor(args: {
    limit: number;
    queueLimit: number;
    limits: Pick<ReadLimits, 'minRate' | 'minRatePeriod'>;
  }) {
    const { limit, queueLimit, limits } = args;
    const share = Math.max(1, Math.floor(limit / 2));
    this.#slots = new FairShare({
      ...{ capacity: limit, share, reserve: 1, queueLimit },
      full: 'too many reads wait',
    });
    this.#limits = limits;
  }

  /** @param account absent: the service itself reads */
  async take(signal: AbortSignal | undefined, account = ''): Promise<StreamSlot> {
    const waiting = this.#slots.take(signal, account);
    if (this.#slots.waiters > 0) this.#watch();
    const release = await waiting;
    const slot = new StreamSlot(account, () => {
      this.#held.delete(slot);
      release();
    });
    this.#held.add(slot);
    return slot;
  }

  close(): void {
    this.#unwatch();
    this.#slots.failAll(new Error('the database is closed'));
  }

  #watch(): void {
    if (this.#timer !== null) return;
    for (const slot of this.#held) slot.beginWindow();
    this.#timer = setInterval(() => this.#cutSlow(), this.#limits.minRatePeriod);
    this.#timer.unref();
  }

  #unwatch(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #cutSlow(): void {
    const { minRate, minRatePeriod } = this.#limits;
    const least = (minRate * minRatePeriod) / 1000;
    for (const slot of [...this.#held]) {
      if (this.#slots.waiters === 0) break;
      // a read whose account alone is at its limit keeps no other waiting
      const concerned = this.#slots.exhausted || this.#slots.waiting.has(slot.account);
      if (concerned && slot.isSlow(least)) slot.cut();
      else slot.beginWindow();
    }
    if (this.#slots.waiters === 0) this.#unwatch();
  }
}

/** The place of one stream. */
export class StreamSlot {
  readonly account: string;
  /** Releases the place; a second call does no harm. */
  readonly release: () => void;
  #taken = 0;
  /** Whether a whole window has begun since this stream did. */
  #measured = false;
  #readerWaits = false;
  #error: Error | null = null;
  #onCut: () => void = () => {};

  constructor(account: string, release: () => void) {
    this.account = account;
    this.release = release;
  }

  beginWindow(): void {
    this.#measured = true;
    this.#taken = 0;
  }

  /** A reader that waits for the engine is not slow. */
  isSlow(least: number): boolean {
    return this.#measured && !this.#readerWaits && this.#taken < least;
  }

  cut(): void {
    this.#error = overloaded('the answer was read too slowly while others waited');
    this.#onCut();
  }

  /** The chunks in small pieces. Its reader is measured, and cut when it is too slow. */
  paced(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    const source = chunks[Symbol.asyncIterator]();
    let rest: Uint8Array = new Uint8Array();
    this.#onCut = () => {
      rest = new Uint8Array();
      // nobody is interested in a failure of the engine any more
      source.return?.().catch(() => {});
    };
    const next = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
      if (this.#error !== null) throw this.#error;
      while (rest.byteLength === 0) {
        this.#readerWaits = true;
        try {
          const chunk = await source.next();
          if (this.#error !== null) throw this.#error;
          if (chunk.done === true) return { done: true, value: undefined };
          rest = chunk.value;
        } finally {
          this.#readerWaits = false;
        }
      }
      const value = rest.subarray(0, pieceSize);
      rest = rest.subarray(pieceSize);
      this.#taken += value.byteLength;
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
}
