import { setMaxListeners } from 'node:events';

/**
 * All bounded waits. They differ in what ends them, and in what happens to the work:
 *
 * | | ends at | the work | the caller gets |
 * |---|---|---|---|
 * | `withDeadline` | a time, or an abort | is stopped | an error |
 * | `whileWanted` | an abort | is stopped | what the work makes of it |
 * | `untilAborted` | an abort | continues | the abort's reason |
 * | `settledWithin` | a time | continues | false |
 * | `resultWithin` | a time | continues | null |
 *
 * `createSharedDeadline` makes signals that many requests share.
 */
export class DeadlinePassed extends Error {
  constructor(what: string, milliseconds: number) {
    super(`${what} for ${Math.round(milliseconds)} ms`);
    this.name = 'DeadlinePassed';
  }
}

/** One attempt at something, which can be stopped. An AbortController for each would cost more than everything else here. */
export class Attempt {
  #controller: AbortController | null = null;
  #stopped = false;
  #reason: unknown;
  /** Called when the attempt is stopped. There can only be one listener. */
  onStop: (() => void) | null = null;

  get stopped(): boolean {
    return this.#stopped;
  }

  /** The reason of the stop. */
  get reason(): unknown {
    return this.#reason;
  }

  /** The stop as a signal, for callees that need one. Created on first use. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#stopped) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  stop(reason: unknown): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#reason = reason;
    this.onStop?.();
    this.#controller?.abort(reason);
  }

  throwIfStopped(): void {
    if (this.#stopped) throw this.#reason;
  }
}

/**
 * Runs the work as an attempt that is stopped by the signal or at the deadline. Rejects with the reason of the stop,
 * whatever the work does then.
 *
 * Use it wherever a deadline joins a signal. AbortSignal.any holds its sources weakly: Node 20 collects an
 * AbortSignal.timeout that only it refers to, and then nothing ends the wait. It also leaks memory on a long-lived
 * signal; this does not.
 * @param signal undefined: only the deadline ends it
 * @param options.grace how long the work may continue after the signal's abort. Milliseconds
 * @param options.late the error at the deadline; absent: a DeadlinePassed
 */
export async function withDeadline<T>(
  signal: AbortSignal | undefined,
  milliseconds: number,
  work: (attempt: Attempt) => Promise<T>,
  { grace = 0, late }: { readonly grace?: number; readonly late?: (cause: unknown) => Error } = {},
): Promise<T> {
  signal?.throwIfAborted();
  const attempt = new Attempt();
  let leaving: NodeJS.Timeout | undefined;
  const stop = () => {
    if (grace > 0) leaving = setTimeout(() => attempt.stop(signal?.reason), grace);
    else attempt.stop(signal?.reason);
  };
  const timer = setTimeout(() => attempt.stop(new DeadlinePassed('no answer', milliseconds)), milliseconds);
  signal?.addEventListener('abort', stop, { once: true });
  try {
    return await work(attempt);
  } catch (error) {
    if (!attempt.stopped) throw error;
    throw late !== undefined && attempt.reason instanceof DeadlinePassed ? late(error) : attempt.reason;
  } finally {
    clearTimeout(timer);
    clearTimeout(leaving);
    signal?.removeEventListener('abort', stop);
  }
}

/** Runs the work as an attempt that the signal can stop until the work settles. */
export async function whileWanted<T>(
  signal: AbortSignal,
  work: (attempt: Attempt) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const attempt = new Attempt();
  const stop = (): void => attempt.stop(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await work(attempt);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Settles with the work, or rejects as soon as the signal is aborted; the work itself continues. */
export function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
    work.then(
      (result) => {
        signal.removeEventListener('abort', onAbort);
        resolve(result);
      },
      (error: unknown) => {
        signal.removeEventListener('abort', onAbort);
        reject(error as Error);
      },
    );
  });
}

/** Resolves with true when the work has settled, or with false after the time. The work itself continues. */
export async function settledWithin(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), milliseconds);
  });
  const ended = work.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([ended, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The work's result, or null when it takes longer than `milliseconds`. The work itself continues. */
export async function resultWithin<Result>(
  work: Promise<Result>,
  milliseconds: number,
): Promise<Result | null> {
  return (await settledWithin(work, milliseconds)) ? work : null;
}

/** Calls within this time share a signal. Milliseconds. */
const shareFor = 1000;

/**
 * Makes signals that are aborted after `milliseconds`, or up to a second earlier. For deadlines that every request needs
 * and hardly any reaches: they cost next to nothing, while AbortSignal.timeout takes 10 microseconds of CPU.
 * Many callers share a signal: listeners are removed when the work is over, as `withDeadline` does.
 */
export function createSharedDeadline(milliseconds: number): () => AbortSignal {
  let signal: AbortSignal | null = null;
  let madeAt = 0;
  return () => {
    const now = performance.now();
    if (signal === null || now - madeAt > shareFor) {
      signal = AbortSignal.timeout(milliseconds);
      // one for each request to a store
      setMaxListeners(0, signal);
      madeAt = now;
    }
    return signal;
  };
}
