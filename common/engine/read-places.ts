import { FairShare } from '#kernel/limits/fair-share.ts';
import { watchLoopDelay } from '#kernel/limits/watch-loop-delay.ts';

/** Most concurrent reads of clients. */
export const mostReads = 4;
/** Most of them for one account. */
const accountShare = 2;
/** Most concurrent reads while the event loop is late, because the engine's threads take the cores that it lacks. */
const readsWhenLate = 2;
/** The average delay from which the event loop counts as late. Milliseconds. */
const late = 10;
/** Milliseconds after which a read no longer counts, so that long reads block nobody. */
const long = 500;
const queueLimit = 10_000;
const usual = { capacity: mostReads, reserve: 1 };

/** The turns of clients' reads in the embedded engine (docs/decisions/034-hostile-load.md). */
export class ReadPlaces {
  readonly #share = new FairShare({
    ...{ ...usual, share: accountShare, queueLimit },
    full: 'too many reads wait',
  });
  /** When each read began. */
  readonly #running = new Set<{ readonly began: number }>();
  readonly #unwatch = watchLoopDelay((delay) => this.#look(delay));

  /** Runs a read in its turn. Rejects like FairShare's `take` if it can't start. */
  run<Result>(
    read: () => Promise<Result>,
    signal: AbortSignal | undefined,
    account: string,
  ): Promise<Result> {
    return this.#share.run(
      async () => {
        const running = { began: performance.now() };
        this.#running.add(running);
        try {
          return await read();
        } finally {
          this.#running.delete(running);
        }
      },
      signal,
      account,
    );
  }

  close(): void {
    this.#unwatch();
  }

  #look(delay: number): void {
    if (delay <= late) {
      this.#share.resize(usual);
      return;
    }
    const longAgo = performance.now() - long;
    const longReads = [...this.#running].filter(({ began }) => began < longAgo).length;
    // no reserve: an account may have both while no other account waits
    this.#share.resize({ capacity: Math.min(mostReads, readsWhenLate + longReads), reserve: 0 });
  }
}
