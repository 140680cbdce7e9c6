import { isSafeHash } from '#auth/safe-hash.ts';
import { recordTimes } from '#records/input/parse-time.ts';
import type { Field, StoredValue } from '#records/structure/field.ts';

/** What an import may keep of records that come from elsewhere. */
export const keptNames = ['id', 'createdAt', 'updatedAt', 'hashes'] as const;
export type Kept = (typeof keptNames)[number];
export type KeptColumn = Exclude<Kept, 'hashes'>;

export interface OwnValues {
  readonly id?: string;
  /** Milliseconds since 1970. */
  readonly createdAt?: number;
  readonly updatedAt?: number;
}

const idPattern = /^[A-Za-z0-9_.~-]{1,64}$/;
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)$/;

type Reading<Value> = { readonly value: Value } | { readonly problem: string };

/** A value that is kept. A problem is the end of a sentence. */
export function readOwn(name: KeptColumn, given: unknown): Reading<string | number> {
  if (name === 'id')
    return typeof given === 'string' && idPattern.test(given)
      ? { value: given }
      : { problem: 'should be 1 to 64 letters, digits, or characters of -_.~' };
  const time = typeof given === 'string' && timePattern.test(given) ? Date.parse(given) : Number.NaN;
  return time >= recordTimes.first && time <= recordTimes.last
    ? { value: time }
    : { problem: 'should be a time with its zone (ISO 8601), from 1970 on' };
}

/** The hash of a value that was hashed elsewhere. */
export function readHash({ required, filled }: Field, given: unknown): Reading<StoredValue | null> {
  const hash = given ?? null;
  if (hash === null) return required && !filled ? { problem: 'is required' } : { value: null };
  return typeof hash === 'string' && isSafeHash(hash)
    ? { value: hash }
    : { problem: 'should be a hash of argon2, as an export with $hashes has it' };
}
