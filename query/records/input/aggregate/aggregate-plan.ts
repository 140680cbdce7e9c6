import type { Comparison } from '../filters/filter.ts';
import type { Conditions } from '../parse-conditions.ts';
import type { TimeBucket } from './time-bucket.ts';

export const aggregateLimits = {
  groups: 10,
  values: 100,
  sorts: 20,
  /** Rows of an answer: usually, and at most. With `fill` also before `having` and `limit`. */
  usualRows: 100,
  rows: 10_000,
} as const;

/** A parsed aggregation: groups of records, and functions of each. */
export interface AggregatePlan {
  readonly where: Conditions;
  /** Empty: all records are one group, which exists even without records. */
  readonly groups: readonly Group[];
  readonly values: readonly Value[];
  /** Conditions on values, in the form of conditions on fields. */
  readonly having: Conditions;
  readonly sort: readonly { readonly column: string; readonly descending: boolean }[];
  readonly limit: number;
}

/** The common value of a group's records. */
export interface Group extends Pick<Comparison, 'target' | 'path'> {
  /** Its key in answers. */
  readonly name: string;
  /** Its name in SQL. */
  readonly column: string;
  /** Absent: groups have equal values. */
  readonly bucket?: TimeBucket;
  /** Whether the answer includes buckets without records. */
  readonly fill: boolean;
}

export interface Value {
  readonly name: string;
  readonly column: string;
  /** Null: records are counted. */
  readonly of:
    | (Pick<Comparison, 'target' | 'path'> & { readonly name: string; readonly level: number })
    | null;
}
