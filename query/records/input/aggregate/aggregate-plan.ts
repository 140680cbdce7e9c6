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
  /** None: all records are one group, which is there without any, too. */
  readonly groups: readonly Group[];
  readonly values: readonly Value[];
  /** Conditions on values, as if these were fields. */
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
  /** Absent: they have the same value. */
  readonly bucket?: TimeBucket;
  /** Whether buckets without a record are there, too. */
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
