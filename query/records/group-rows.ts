import { invalidCondition } from '#kernel/errors/catalogue.ts';
import {
  type AggregatePlan,
  aggregateLimits,
  type DigitsColumn,
  digitsColumns,
  digitsIn,
  type Group,
} from './input/aggregate/aggregate-plan.ts';
import { kindOfValue } from './input/filters/filter.ts';
import { filterTest } from './input/filters/filter-test.ts';
import { compare } from './input/filters/operators.ts';
import { asFilter } from './input/parse-conditions.ts';
import { slotOf } from './structure/slots.ts';
import type { Comparable } from './types/field-type.ts';
import { typeEntry } from './types/field-types.ts';

/** A group with the columns of the plan. */
export type GroupRow = Readonly<Record<string, Comparable | null>>;

/** A group as the engine answers it. */
export type AnsweredRow = Readonly<Record<string, string | number | boolean | null>>;

/** The JSON of the groups that the engine found. */
export function foundGroupsJson(plan: AggregatePlan, answered: readonly AnsweredRow[]): Uint8Array {
  const isFilled = plan.groups.some(({ fill }) => fill);
  const digits = digitsColumns(plan);
  const rows: readonly GroupRow[] =
    digits.length === 0 ? answered : answered.map((row) => withDigits(row, digits));
  return groupsJson(plan, isFilled ? wantedRows(plan, rows) : rows);
}

function withDigits(row: AnsweredRow, digits: readonly DigitsColumn[]): GroupRow {
  const exact = digits.map(({ column }) => {
    const text = row[digitsIn(column)] ?? null;
    return [column, text === null ? null : BigInt(text)] as const;
  });
  return { ...row, ...Object.fromEntries(exact) };
}

/**
 * All groups of a plan, with the empty buckets between the first and the last, filtered and sorted as the plan says,
 * and with one group beyond its limit. Throws a 400 when there are too many.
 */
export function wantedRows(plan: AggregatePlan, found: readonly GroupRow[]): readonly GroupRow[] {
  const { having, limit } = plan;
  const rows = withEmpty(plan, found);
  const conditions = [...having.others, ...having.plain.map(asFilter)];
  const tests = conditions.map((filter) =>
    filterTest<GroupRow>(filter, (target) => {
      const field = target as Exclude<typeof target, string>;
      const { textOfDigits, comparable } = typeEntry(field.type);
      return (row) => {
        const value = row[slotOf(field)] ?? undefined;
        return typeof value === 'bigint' && textOfDigits
          ? comparable(textOfDigits(String(value), field))
          : value;
      };
    }),
  );
  const order = orderOf(plan);
  return rows
    .filter((row) => tests.every((test) => test(row)))
    .sort(order)
    .slice(0, limit + 1);
}

export function emptyRow({ values }: AggregatePlan): GroupRow {
  return Object.fromEntries(values.map(({ column, of }) => [column, of === null ? 0 : null]));
}

function withEmpty(plan: AggregatePlan, all: readonly GroupRow[]): readonly GroupRow[] {
  const { groups } = plan;
  const empty = emptyRow(plan);
  const filled = groups.filter(({ fill }) => fill);
  // records without a time are in no series of times
  const isTimed = (row: GroupRow): boolean => filled.every(({ column }) => row[column] !== null);
  const found = all.filter(isTimed);
  const axes = filled.map(({ column, bucket }) => ({
    column,
    ...rangeOf(found, column),
    exists: (number: number) => bucket?.exists(number) !== false,
  }));
  const others = groups.filter(({ fill }) => !fill);
  const known = new Map(found.map((row) => [keyOf(groups, row), row]));
  const series = new Map(found.map((row) => [keyOf(others, row), row]));
  const count = axes.reduce((product, { from, to }) => product * (to - from + 1), series.size);
  if (count > aggregateLimits.rows) {
    throw invalidCondition([
      `groupBy: fill would make ${count.toLocaleString('en')} rows; at most ${aggregateLimits.rows.toLocaleString('en')} are allowed: use larger buckets, or fewer records`,
    ]);
  }
  let rows: readonly GroupRow[] = [...series.values()].map((row) => ({
    ...empty,
    ...Object.fromEntries(others.map(({ column }) => [column, row[column] ?? null])),
  }));
  for (const { column, from, to, exists } of axes) {
    const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index).filter(exists);
    rows = rows.flatMap((row) => numbers.map((number) => ({ ...row, [column]: number })));
  }
  const complete = rows.map((row) => known.get(keyOf(groups, row)) ?? row);
  return found.length === all.length ? complete : [...complete, ...all.filter((row) => !isTimed(row))];
}

function rangeOf(rows: readonly GroupRow[], column: string): { readonly from: number; readonly to: number } {
  const numbers = rows.map((row) => row[column] as number);
  const first = numbers[0] ?? 0;
  return numbers.reduce(
    ({ from, to }, number) => ({ from: Math.min(from, number), to: Math.max(to, number) }),
    {
      from: first,
      to: first,
    },
  );
}

function keyOf(groups: readonly Group[], row: GroupRow): string {
  return JSON.stringify(
    groups.map(({ column }) => (typeof row[column] === 'bigint' ? String(row[column]) : row[column])),
  );
}

function orderOf({ sort, groups }: AggregatePlan): (a: GroupRow, b: GroupRow) => number {
  const by = [...sort, ...groups.map(({ column }) => ({ column, descending: false }))];
  return (a, b) => {
    for (const { column, descending } of by) {
      const [one = null, other = null] = [a[column], b[column]];
      if (one === other) continue;
      // groups without a value come last
      if (one === null || other === null) return one === null ? 1 : -1;
      const order = compare(one, other);
      if (order !== 0) return descending ? -order : order;
    }
    return 0;
  };
}

/** Header of an answer whose limit left groups out. */
export const moreGroupsHeader: Readonly<Record<string, string>> = { 'sluice-more-groups': 'true' };

/** Answers that have fewer groups than there are. */
const cutAnswers = new WeakSet<Uint8Array>();

/** The header of an answer whose limit left groups out; null: none were left out. @param body made by `groupsJson` */
export function moreGroups(body: unknown): typeof moreGroupsHeader | null {
  return body instanceof Uint8Array && cutAnswers.has(body) ? moreGroupsHeader : null;
}

/** A JSON array of groups. @param rows one beyond the limit of the plan says that there are more */
export function groupsJson({ groups, values, limit }: AggregatePlan, rows: readonly GroupRow[]): Uint8Array {
  const keys = groups.map((group) => ({ ...group, isJson: kindOfValue(group).isJson }));
  const digits = new Map(digitsColumns({ groups, values }).map(({ column, type }) => [column, type]));
  const shownValue = (column: string, value: Comparable | null): unknown => {
    const type = typeof value === 'bigint' ? digits.get(column) : undefined;
    return type === undefined ? value : typeEntry(type.type).textOfDigits?.(String(value), type);
  };
  const shown = rows.slice(0, limit).map((row) => [
    ...keys.map(({ name, column, bucket, isJson }) => {
      const value = row[column] ?? null;
      if (bucket !== undefined) return [name, value === null ? null : bucket.nameOf(value as number)];
      return [name, isJson && value !== null ? JSON.parse(value as string) : shownValue(column, value)];
    }),
    ...values.map(({ name, column }) => [name, shownValue(column, row[column] ?? null)]),
  ]);
  // not from the pool of small buffers: a cache can then keep these bytes without copying them
  const json = new TextEncoder().encode(JSON.stringify(shown.map((entries) => Object.fromEntries(entries))));
  if (rows.length > limit) cutAnswers.add(json);
  return json;
}
