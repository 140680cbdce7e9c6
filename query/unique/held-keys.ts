import { setTimeout as sleep } from 'node:timers/promises';
import { overloaded } from '../../common/errors/catalogue.ts';
import type { Ledger } from './ledger.ts';

interface Watched {
  readonly free: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  waiting: number;
}

const shortestPause = 5;
const longestPause = 50;
const watchLimit = 5000;

/** Keys that writes of other processes hold, and requests of this one wait for: one look asks for all of them. */
export class HeldKeys {
  readonly #ledger: Ledger;
  readonly #watched = new Map<string, Watched>();
  #looking = false;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  has(digest: string): boolean {
    return this.#watched.has(digest);
  }

  /**
   * Waits in the given way until nobody holds the key. Rejects with a RedisFailure when that can't be known.
   * @param wait ends when the request no longer wants to
   */
  async untilFree(digest: string, wait: (free: Promise<void>) => Promise<void>): Promise<void> {
    const watched = this.#watched.get(digest) ?? this.#watch(digest);
    watched.waiting++;
    try {
      await wait(watched.free);
    } finally {
      watched.waiting--;
      if (watched.waiting === 0 && this.#watched.get(digest) === watched) this.#watched.delete(digest);
    }
  }

  #watch(digest: string): Watched {
    if (this.#watched.size >= watchLimit) throw overloaded('too many values of unique fields are waited for');
    const { promise, resolve, reject } = withResolvers();
    // the waiting write may have gone
    promise.catch(() => {});
    const watched = { free: promise, resolve, reject, waiting: 0 };
    this.#watched.set(digest, watched);
    if (!this.#looking) void this.#look();
    return watched;
  }

  async #look(): Promise<void> {
    this.#looking = true;
    let pause = shortestPause;
    while (this.#watched.size > 0) {
      await sleep(pause);
      pause = Math.min(pause * 1.5, longestPause);
      try {
        const free = await this.#ledger.free([...this.#watched.keys()]);
        for (const digest of free) this.#take(digest)?.resolve();
        if (free.length > 0) pause = shortestPause;
      } catch (error) {
        for (const digest of [...this.#watched.keys()]) this.#take(digest)?.reject(error);
      }
    }
    this.#looking = false;
  }

  #take(digest: string): Watched | undefined {
    const watched = this.#watched.get(digest);
    this.#watched.delete(digest);
    return watched;
  }
}

function withResolvers(): { promise: Promise<void>; resolve: () => void; reject: (error: unknown) => void } {
  let resolve: () => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
