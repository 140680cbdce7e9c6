export interface HealthTimes {
  /** Milliseconds for which a server is set aside the first time, and at most. */
  readonly firstPause: number;
  readonly longestPause: number;
  /** The longest probe. */
  readonly probeLimit: number;
  /** A server that was in use for this long has made up for its failures. */
  readonly goodFor: number;
}

const usualTimes: HealthTimes = { firstPause: 500, longestPause: 30_000, probeLimit: 2000, goodFor: 30_000 };

/**
 * A circuit breaker for a server. One that failed is set aside until a probe gets an answer; the time to the next probe
 * doubles.
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
   * @param args.probe asks the server something; rejects when there is no answer
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

  /** The server's state now; `busy` is an answer, too. All callers at once share one probe. */
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
