import type { Mix, MixSpace } from '../mix/mix.ts';
import { hashOf } from '../seed/hash.ts';
import type { StoredUpdate } from '../targets/target.ts';

/** Records of a space that were stored before the load, and are verified at most. */
const mostPrepared = 100_000;
/** Parts the choice of these records from the other choices. */
const salt = 0x6b1d;
/** Updates of a record of which each may be the last; of more nothing is said. */
const mostPossible = 8;

/** Whether a record that was stored before the load is verified: the same in each thread. @param share 0 to 1 */
export function isVerified(seed: number, { records }: MixSpace, index: number, share: number): boolean {
  return hashOf(seed, index, salt) < Math.min(share, mostPrepared / records) * 2 ** 32;
}

/** Updates of the records that are verified, without those that others have surely replaced. */
export class UpdatedRecords {
  readonly #spaces: ReadonlyMap<string, MixSpace>;
  readonly #seed: number;
  readonly #share: number;
  readonly #updates = new Map<string, StoredUpdate[]>();

  constructor({ spaces, seed }: Mix, share: number) {
    this.#spaces = new Map(spaces.map((space) => [space.name, space]));
    this.#seed = seed;
    this.#share = share;
  }

  note(update: StoredUpdate): void {
    const { space, index } = update;
    const known = this.#spaces.get(space);
    if (known === undefined || !isVerified(this.#seed, known, index, this.#share)) return;
    const key = `${space}/${index}`;
    this.#updates.set(key, possibleUpdates([...(this.#updates.get(key) ?? []), update]));
  }

  get all(): StoredUpdate[] {
    return [...this.#updates.values()].flat();
  }
}

/**
 * The updates of one record of which each may be the last: none that was acknowledged before another one began, unless that one was
 * itself not acknowledged. They are at most one more than can be compared.
 */
export function possibleUpdates(updates: readonly StoredUpdate[]): StoredUpdate[] {
  const begun = Math.max(...updates.map(({ began, ended }) => (ended === null ? 0 : began)));
  return updates.filter(({ ended }) => ended === null || ended >= begun).slice(0, mostPossible + 1);
}

/** Whether so many updates may each be the last that nothing can be said. */
export function isUnclear(possible: readonly StoredUpdate[]): boolean {
  return possible.length > mostPossible;
}
