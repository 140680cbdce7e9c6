/** How long a scanner that failed is left alone. Milliseconds. */
const restFor = 5000;

/**
 * Whether a scanner is worth asking. Once it has failed, one file at a time tries it again after a while; the others need
 * not wait for the same failure.
 */
export class ScannerHealth {
  readonly #now: () => number;
  #away = false;
  #retryAt = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get isAway(): boolean {
    return this.#away;
  }

  /** Whether this file may ask. The one that tries a scanner again calls `worked` or `broke`. */
  mayAsk(): boolean {
    if (!this.#away) return true;
    if (this.#now() < this.#retryAt) return false;
    // if this one never says how it went, another tries later
    this.#retryAt = this.#now() + restFor;
    return true;
  }

  /** @returns whether it was away */
  worked(): boolean {
    const was = this.#away;
    this.#away = false;
    return was;
  }

  /** @returns whether it was not away before */
  broke(): boolean {
    const first = !this.#away;
    this.#away = true;
    this.#retryAt = this.#now() + restFor;
    return first;
  }
}
