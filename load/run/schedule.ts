/** A phase of an open loop: when each of its requests is to start. */
export class Schedule {
  readonly #rate: number;
  readonly #growth: number;
  /** Of the whole phase: those that start before its end. The first starts at once, however low the rate. */
  readonly requests: number;

  /**
   * @param rate requests a second at the beginning
   * @param rateAtEnd the rate changes evenly to this one
   */
  constructor(rate: number, rateAtEnd: number, seconds: number) {
    this.#rate = rate;
    this.#growth = (rateAtEnd - rate) / seconds;
    const area = ((rate + rateAtEnd) / 2) * seconds;
    // 0.1 a second for 30 seconds is more than 3 by a rounding error
    this.requests = Math.ceil(area * (1 - 1e-12));
  }

  /** Milliseconds after the beginning of the phase. @param index of the request in the phase, from 0 */
  startOf(index: number): number {
    if (this.#growth === 0) return (index / this.#rate) * 1000;
    // index = rate t + growth t² / 2, solved so that nothing cancels out
    const root = Math.sqrt(Math.max(0, this.#rate ** 2 + 2 * this.#growth * index));
    return ((2 * index) / (this.#rate + root)) * 1000;
  }
}
