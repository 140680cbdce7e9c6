import { isSafeHash } from '#auth/safe-hash.ts';
import { recordTimes } from '#records/input/parse-time.ts';
import type { Field } from '#records/structure/field.ts';
import type { StoredValue } from '#records/types/field-type.ts';

/** What an import may keep of its records, instead of getting new ids, times and hashes. */
export const keepOptions = ['id', 'createdAt', 'updatedAt', 'hashes'] as const;
export type KeepOption = (typeof keepOptions)[number];
export type SystemColumn = Exclude<KeepOption, 'hashes'>;

/** System values that a record keeps. */
export interface SystemValues {
  readonly id?: string;
  /** Milliseconds since 1970. */
  readonly createdAt?: number;
  readonly updatedAt?: number;
}

const idPattern = /^[A-Za-z0-9_.~-]{1,64}$/;
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)$/;

/** A valid value, or what is wrong with it, as the end of a sentence ("should be a valid number"). */
export type ReadResult<Value> = { readonly value: Value } | { readonly problem: string };

export function readSystemValue(name: SystemColumn, cell: unknown): ReadResult<string | number> {
  if (name === 'id')
    return typeof cell === 'string' && idPattern.test(cell)
      ? { value: cell }
      : { problem: 'should be 1 to 64 letters, digits, or characters of -_.~' };
  const time = typeof cell === 'string' && timePattern.test(cell) ? Date.parse(cell) : Number.NaN;
  return time >= recordTimes.first && time <= recordTimes.last
    ? { value: time }
    : { problem: 'should be a time with its zone (ISO 8601), from 1970 on' };
}

/** Reads the kept hash of a value. */
export function readHash({ required, filled }: Field, cell: unknown): ReadResult<StoredValue | null> {
  const hash = cell ?? null;
  if (hash === null) return required && !filled ? { problem: 'is required' } : { value: null };
  return typeof hash === 'string' && isSafeHash(hash)
    ? { value: hash }
    : { problem: 'should be an argon2 hash, as exports with $hashes write it' };
}
