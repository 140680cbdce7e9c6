/** A rate limit with a burst of a tenth of a second. Times are milliseconds of one steady clock. */
export class TokenBucket {
  readonly #perMs: number;
  readonly #burst: number;
  #tokens: number;
  #at: number;

  constructor(bytesPerSecond: number, now: number) {
    this.#perMs = bytesPerSecond / 1000;
    this.#burst = Math.max(bytesPerSecond / 10, 1);
    this.#tokens = this.#burst;
    this.#at = now;
  }

  /** Takes up to so many whole tokens, and answers how many. */
  take(wanted: number, now: number): number {
    this.#tokens = Math.min(this.#tokens + Math.max(now - this.#at, 0) * this.#perMs, this.#burst);
    this.#at = now;
    const taken = Math.min(wanted, Math.floor(this.#tokens));
    this.#tokens -= taken;
    return taken;
  }

  /** How long until a token is there. */
  wait(): number {
    return Math.max((1 - this.#tokens) / this.#perMs, 0);
  }
}
