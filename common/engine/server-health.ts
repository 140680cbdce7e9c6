export interface HealthTimes {
  /** How long a server is set aside at first, and at most. Milliseconds. */
  readonly firstPause: number;
  readonly longestPause: number;
  /** Deadline of a probe. */
  readonly probeLimit: number;
  /** After this long in use, earlier failures are forgotten. */
  readonly goodFor: number;
}

const usualTimes: HealthTimes = { firstPause: 500, longestPause: 30_000, probeLimit: 2000, goodFor: 30_000 };

/**
 * A circuit breaker for a server. After a failure the server is set aside until a probe gets an answer; the time between
 * probes doubles.
 */
export class ServerHealth {
  readonly #probe: (signal: AbortSignal) => Promise<'well' | 'busy'>;
  readonly #changed: (usable: boolean, reason: unknown) => void;
  readonly #times: HealthTimes;
  #usable = true;
  #usableSince = 0;
  #failures = 0;
  #timer: NodeJS.Timeout | null = null;
  #probing: Promise<'well' | 'busy' | 'away'> | null = null;
  #closed = false;

  /**
   * @param args.probe rejects if the server does not respond
   * @param args.changed called when the server is set aside, and when it is back
   */
  constructor(args: {
    probe: (signal: AbortSignal) => Promise<'well' | 'busy'>;
    changed?: (usable: boolean, reason: unknown) => void;
    times?: Partial<HealthTimes> | undefined;
  }) {
    this.#probe = args.probe;
    this.#changed = args.changed ?? (() => {});
    this.#times = { ...usualTimes, ...args.times };
  }

  get usable(): boolean {
    return this.#usable;
  }

  setAside(reason: unknown): void {
    if (!this.#usable || this.#closed) return;
    this.#usable = false;
    if (performance.now() - this.#usableSince > this.#times.goodFor) this.#failures = 0;
    this.#changed(false, reason);
    this.#plan();
  }

  /** The current state of the server; `busy` counts as an answer. Concurrent callers share a probe. */
  check(): Promise<'well' | 'busy' | 'away'> {
    this.#probing ??= this.#probe(AbortSignal.timeout(this.#times.probeLimit))
      .catch(() => 'away' as const)
      .finally(() => {
        this.#probing = null;
      });
    return this.#probing;
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #plan(): void {
    const { firstPause, longestPause } = this.#times;
    const pause = Math.min(longestPause, firstPause * 2 ** this.#failures++);
    this.#timer = setTimeout(() => void this.#checkAgain(), pause).unref();
  }

  async #checkAgain(): Promise<void> {
    const state = await this.check();
    if (this.#closed) return;
    if (state !== 'well') return this.#plan();
    this.#usable = true;
    this.#usableSince = performance.now();
    this.#changed(true, null);
  }
}
