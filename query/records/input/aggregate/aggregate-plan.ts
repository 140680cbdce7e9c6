import { type TypedField, typeCan, typeEntry, typeOfIds, typeOfResults } from '../../types/field-types.ts';
import type { Comparison } from '../filters/filter.ts';
import type { Conditions } from '../parse-conditions.ts';
import { functions } from './functions.ts';
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

/** How the values of an aggregation are read and shown; null: they are of no declared type, or times of records. */
export function typeOfValue({ of }: Value): TypedField | null {
  if (of === null) return { type: typeOfResults };
  const { target, path, name } = of;
  const isField = typeof target !== 'string' && path.length === 0;
  const result = functions[name]?.result(isField ? target : { type: typeOfResults }) ?? null;
  if (result !== null) return typeOptions(result);
  if (target === 'id') return { type: typeOfIds };
  return isField && typeCan(target.type, 'ordered') ? typeOptions(target) : null;
}

/** The same of groups. */
export function typeOfGroup({ target, path, bucket }: Group): TypedField | null {
  return typeof target === 'string' || path.length > 0 || bucket !== undefined ? null : typeOptions(target);
}

/** Only what reading values needs: texts are compared in their stored form. */
function typeOptions({ type, normalize, precision, scale }: TypedField): TypedField {
  return {
    type,
    ...(normalize && { normalize }),
    ...(precision !== undefined && { precision }),
    ...(scale !== undefined && { scale }),
  };
}

/** A column of an aggregation whose values the engine answers as digits. */
export interface DigitsColumn {
  readonly column: string;
  readonly type: TypedField;
}

export function digitsColumns({
  groups,
  values,
}: Pick<AggregatePlan, 'groups' | 'values'>): readonly DigitsColumn[] {
  const typed = [
    ...groups.map((group) => ({ column: group.column, type: typeOfGroup(group) })),
    ...values.map((value) => ({ column: value.column, type: typeOfValue(value) })),
  ];
  return typed.flatMap(({ column, type }) =>
    type !== null && typeEntry(type.type).textOfDigits !== undefined ? [{ column, type }] : [],
  );
}

/** The column of an answer with the digits of another one: its number would be rounded by a reader of JSON. */
export function digitsIn(column: string): string {
  return `${column}_digits`;
}
