/** A phase of an open loop: when each of its requests is to start. */
export class Schedule {
  readonly #rate: number;
  readonly #growth: number;
  /** Of the whole phase. */
  readonly requests: number;

  /**
   * @param rate requests a second at the beginning
   * @param rateAtEnd the rate changes evenly to this one
   */
  constructor(rate: number, rateAtEnd: number, seconds: number) {
    this.#rate = rate;
    this.#growth = (rateAtEnd - rate) / seconds;
    this.requests = Math.floor(((rate + rateAtEnd) / 2) * seconds);
  }

  /** Milliseconds after the beginning of the phase. @param index of the request in the phase, from 0 */
  startOf(index: number): number {
    if (this.#growth === 0) return (index / this.#rate) * 1000;
    // index = rate t + growth t² / 2, solved so that nothing cancels out
    const root = Math.sqrt(Math.max(0, this.#rate ** 2 + 2 * this.#growth * index));
    return ((2 * index) / (this.#rate + root)) * 1000;
  }
}
