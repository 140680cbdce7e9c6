import { randomBytes } from 'node:crypto';
import type { Conditions } from '../input/parse-conditions.ts';
import type { Hasher } from '../records/hasher.ts';
import type { RecordReader } from '../records/record-reader.ts';
import { storedJson } from '../records/record-row.ts';
import type { RecordSpace } from '../structure/record-space.ts';

export interface User {
  readonly id: string;
  /** Without hashed fields. */
  readonly json: string;
}

/** Finds the user that credentials stand for; null when there is none, or a hashed value is wrong. */
export type VerifyCredentials = (
  space: RecordSpace,
  conditions: Conditions,
  signal: AbortSignal,
) => Promise<User | null>;

/**
 * The work does not depend on what is found: one query, and one verification for every hashed value, against a hash
 * that nothing fits where there is no user or no stored value. So neither the answer nor its time tells whether
 * a user exists. Where several records have the values, the oldest is meant.
 */
export function createVerifyCredentials({
  reader,
  hasher,
}: {
  reader: RecordReader;
  hasher: Hasher;
}): VerifyCredentials {
  let dummy: Promise<string> | null = null;
  const dummyHash = (): Promise<string> => {
    dummy ??= hasher
      .hashValues([randomBytes(32).toString('base64')], new AbortController().signal)
      .then(([hash]) => hash as string);
    dummy.catch(() => {
      dummy = null;
    });
    return dummy;
  };

  return async (space, conditions, signal) => {
    // made before the first look at a record, so that the first attempt of all shows nothing either
    const nothingFits = await dummyHash();
    const [user] = await reader.candidates(space, conditions, 1, signal);
    let right = user !== undefined;
    for (const [index, { value }] of conditions.hashed.entries()) {
      const stored = user?.hashes[index] ?? null;
      const verified = await hasher.verifyValue(stored ?? nothingFits, value, signal);
      right = right && stored !== null && verified;
    }
    if (user === undefined || !right) return null;
    return { id: user.row._id, json: storedJson(space.structure, user.row) };
  };
}
