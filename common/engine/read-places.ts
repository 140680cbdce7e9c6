import { FairShare } from '#kernel/limits/fair-share.ts';
import { watchLoopDelay } from '#kernel/limits/watch-loop-delay.ts';

/** Reads of clients that the engine computes at once. */
export const mostReads = 4;
/** The most of them of one account. */
const accountShare = 2;
/** As many as that while the event loop is late: the engine's threads have the cores that it lacks. */
const readsWhenLate = 2;
/** The average delay of the event loop from which it is late. Milliseconds. */
const late = 10;
/** Milliseconds after which a read makes way for one more, so that long ones keep nobody waiting. */
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

  /** Runs a read in its turn. Rejects like FairShare's `take` when it does not begin. */
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
    // without a reserve: an account has both while no other one asks
    this.#share.resize({ capacity: Math.min(mostReads, readsWhenLate + longReads), reserve: 0 });
  }
}
