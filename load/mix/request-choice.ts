import { hashOf } from '../seed/hash.ts';
import type { Mix, MixRequest } from './mix.ts';

/** Which request of a mix a number is: it follows from the seed and the weights. Streams are not chosen. */
export class RequestChoice {
  readonly #seed: number;
  readonly #requests: readonly MixRequest[];
  /** Upper bounds of 32-bit hashes. */
  readonly #bounds: readonly number[];

  constructor(mix: Mix) {
    this.#seed = mix.seed;
    this.#requests = mix.requests.filter(({ kind }) => kind !== 'live');
    const whole = this.#requests.reduce((sum, { weight }) => sum + weight, 0);
    let sum = 0;
    this.#bounds = this.#requests.map(({ weight }) => {
      sum += weight;
      return (sum / whole) * 2 ** 32;
    });
  }

  /** Whether there is nothing to choose: a mix of streams only. */
  get isEmpty(): boolean {
    return this.#requests.length === 0;
  }

  requestOf(number: number): MixRequest {
    const hash = hashOf(this.#seed, number);
    let index = 0;
    while (hash >= (this.#bounds[index] as number) && index < this.#bounds.length - 1) index++;
    return this.#requests[index] as MixRequest;
  }
}
