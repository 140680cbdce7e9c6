export class DeadlinePassed extends Error {
  constructor(what: string, milliseconds: number) {
    super(`${what} for ${Math.round(milliseconds)} ms`);
    this.name = 'DeadlinePassed';
  }
}

/** One try at something, which may be stopped. An AbortController for each costs more than all else here. */
export class Attempt {
  #controller: AbortController | null = null;
  #stopped = false;
  #reason: unknown;
  /** Called when it is stopped. There can be one. */
  onStop: (() => void) | null = null;

  get stopped(): boolean {
    return this.#stopped;
  }

  /** Why, once it is stopped. */
  get reason(): unknown {
    return this.#reason;
  }

  /** The stop as a signal, for callees that take nothing else. Made when it is first read. */
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
 * Runs the work as an attempt that is stopped together with the given signal, and at the deadline. Rejects with the
 * reason of the stop, whatever the work makes of it.
 *
 * Use it wherever a deadline joins a signal. AbortSignal.any holds its sources weakly: Node 20 collects an
 * AbortSignal.timeout that stands in it alone, and then nothing ends the wait. It also leaves its traces on a signal
 * that lives longer; this leaves none.
 * @param grace how long the work may continue after the signal's abort. Milliseconds
 */
export async function withDeadline<T>(
  signal: AbortSignal,
  milliseconds: number,
  work: (attempt: Attempt) => Promise<T>,
  grace = 0,
): Promise<T> {
  signal.throwIfAborted();
  const attempt = new Attempt();
  let leaving: NodeJS.Timeout | undefined;
  const stop = () => {
    if (grace > 0) leaving = setTimeout(() => attempt.stop(signal.reason), grace);
    else attempt.stop(signal.reason);
  };
  const timer = setTimeout(() => attempt.stop(new DeadlinePassed('no answer', milliseconds)), milliseconds);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await work(attempt);
  } catch (error) {
    attempt.throwIfStopped();
    throw error;
  } finally {
    clearTimeout(timer);
    clearTimeout(leaving);
    signal.removeEventListener('abort', stop);
  }
}

/** Runs the work as an attempt that is stopped together with the signal, as long as the work goes on. */
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
