import type { Conditions } from '../input/parse-conditions.ts';
import type { HashChecks } from '../records/hash-checks.ts';
import type { RecordReader } from '../records/record-reader.ts';
import { storedJson } from '../sql/record-row.ts';
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

/** Neither the answer nor its time tells whether a user exists. Where several records have the values, the oldest is meant. */
export function createVerifyCredentials({
  reader,
  checks,
}: {
  reader: RecordReader;
  checks: HashChecks;
}): VerifyCredentials {
  return async (space, conditions, signal) => {
    const oldest = () => reader.candidates(space, conditions, 1, signal);
    const [user] = await checks.verified(space, conditions, oldest, signal);
    return user === undefined ? null : { id: user.row._id, json: storedJson(space.structure, user.row) };
  };
}
