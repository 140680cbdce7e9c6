import { randomBytes } from 'node:crypto';
import type { Hasher } from '#auth/hasher.ts';
import type { LoginThrottle } from '#auth/login-throttle.ts';
import { identityKeys, recordIdentity } from './input/credentials.ts';
import type { Conditions } from './input/parse-conditions.ts';
import type { StoredRow } from './sql/stored-row.ts';
import type { RecordSpace } from './structure/record-space.ts';

/** A record with the hashes of the conditions on hashed fields, in their order. */
export interface Candidate {
  readonly row: StoredRow;
  readonly hashes: readonly (string | null)[];
}

/** Slows down guesses; null counts as a failure. */
export type Throttle = Pick<LoginThrottle, 'run'>;

interface HashChecksParts {
  readonly hasher: Hasher;
  readonly throttle: Throttle;
}

/** Identities that one attempt counts against; the records found count too, by their ids. */
const identities = 5;

/**
 * The only place that compares values with stored hashes, for login and for conditions on hashed fields. Failures
 * count against each unique value in the request, and against each record compared, so neither the operation nor the
 * field of a guess matters. The work is always the same: without a record, or without a hash, a dummy hash is verified
 * that nothing matches. The time then does not show whether the record exists.
 */
export class HashChecks {
  readonly #parts: HashChecksParts;
  #dummy: Promise<string> | null = null;

  constructor(parts: HashChecksParts) {
    this.#parts = parts;
  }

  /** The candidates with the values of all conditions on hashed fields. Rejects with 429 while attempts are throttled. */
  async verified(
    space: RecordSpace,
    conditions: Conditions,
    candidates: () => Promise<readonly Candidate[]>,
    signal: AbortSignal,
  ): Promise<readonly Candidate[]> {
    const keys = identityKeys(space.id, conditions).slice(-identities);
    const check = async (): Promise<readonly Candidate[] | null> => {
      // made before the first record is read, so that the very first attempt reveals nothing either
      const dummy = await this.#dummyHash();
      const found = await candidates();
      const fits = (hashes: Candidate['hashes']): Promise<boolean> =>
        this.#fits(space, conditions, hashes, dummy, signal);
      if (found.length === 0) await fits([]);
      const right: Candidate[] = [];
      for (const candidate of found) {
        const key = recordIdentity(space.id, candidate.row._id);
        const attempt = async (): Promise<true | null> => (await fits(candidate.hashes)) || null;
        const fitting = keys.includes(key)
          ? await attempt()
          : await this.#parts.throttle.run(key, attempt, signal);
        if (fitting) right.push(candidate);
      }
      return right.length === 0 ? null : right;
    };
    const throttled = keys.reduceRight<() => Promise<readonly Candidate[] | null>>(
      (attempt, key) => () => this.#parts.throttle.run(key, attempt, signal),
      check,
    );
    return (await throttled()) ?? [];
  }

  async #fits(
    { ownerId }: RecordSpace,
    { hashed }: Conditions,
    hashes: Candidate['hashes'],
    dummy: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    let right = true;
    for (const [index, { value }] of hashed.entries()) {
      const stored = hashes[index] ?? null;
      const verified = await this.#parts.hasher.verifyValue(stored ?? dummy, value, signal, ownerId);
      right = right && stored !== null && verified;
    }
    return right;
  }

  #dummyHash(): Promise<string> {
    this.#dummy ??= this.#parts.hasher
      .hashValues([randomBytes(32).toString('base64')], new AbortController().signal, '')
      .then(([hash]) => hash as string);
    this.#dummy.catch(() => {
      this.#dummy = null;
    });
    return this.#dummy;
  }
}
