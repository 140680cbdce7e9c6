import { invalidCondition } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { Field, Target } from '../structure/field.ts';
import type { Structure } from '../structure/structure.ts';
import type { StoredValue } from '../types/field-type.ts';
import { type Filter, filterLimits } from './filters/filter.ts';
import { FilterReader, readConditionValue, readSystemValue } from './filters/filter-reader.ts';
import type { GivenFilter } from './filters/given-filter.ts';
import { targetOf } from './filters/names.ts';

/** A value that records have. */
export interface Condition {
  readonly target: Target;
  readonly value: StoredValue | Date;
}

export function equals(target: Target, value: Condition['value']): Condition {
  return { target, value };
}

export function asFilter({ target, value }: Condition): Filter {
  return { target, path: [], operator: 'eq', values: [value] };
}

/** A value to be compared with stored hashes. */
export interface HashedCondition {
  readonly field: Field;
  readonly value: StoredValue;
}

export interface Conditions {
  readonly relationship: 'And' | 'Or';
  /** Equalities, which are looked up, batched and indexed. */
  readonly plain: readonly Condition[];
  /** All other conditions: comparisons by other operators, and groups. */
  readonly others: readonly Filter[];
  /** Only with `And`, and together with at least one plain condition. */
  readonly hashed: readonly HashedCondition[];
}

export const allRecords: Conditions = { relationship: 'And', plain: [], others: [], hashed: [] };

/** Narrows conditions by more of them, joined by `And`, even if the conditions themselves are joined by `Or`. */
export function narrowed(given: Conditions, more: Pick<Conditions, 'plain' | 'others'>): Conditions {
  const { plain, others, hashed, relationship } = given;
  if (relationship === 'And' || plain.length + others.length === 0)
    return {
      relationship: 'And',
      plain: [...plain, ...more.plain],
      others: [...others, ...more.others],
      hashed,
    };
  const any: Filter = { group: 'any', branches: [...plain.map(asFilter), ...others] };
  return { relationship: 'And', plain: more.plain, others: [any, ...more.others], hashed };
}

/** Each is checked against every candidate, which takes milliseconds of a core. */
export const maxHashedConditions = 5;

/**
 * Reads conditions by the structure: fields by name or slug, `id`, `createdAt` and `updatedAt`.
 * Throws a 400 that lists every problem.
 */
export function parseConditions(
  given: readonly GivenFilter[],
  structure: Structure,
  relationship: 'And' | 'Or',
): Conditions {
  const count = comparisonsIn(given);
  if (count > filterLimits.comparisons) {
    throw invalidCondition([
      `The query has ${count} conditions; at most ${filterLimits.comparisons} are allowed`,
    ]);
  }
  const reader = new FilterReader(structure);
  const plain: Condition[] = [];
  const hashed: HashedCondition[] = [];
  const others: Filter[] = [];
  for (const one of given) {
    let equality = equalityIn(one, structure);
    if (equality === null) {
      const filter = reader.read(one);
      equality = filter && equalityOf(filter);
      if (filter !== null && equality === null) others.push(filter);
      if (equality === null) continue;
    }
    if (typeof equality.target === 'string' || !equality.target.hashed) plain.push(equality);
    else hashed.push({ field: equality.target, value: equality.value as StoredValue });
  }
  const { problems } = reader;
  problems.push(...hashedProblems(hashed, plain.length + others.length, relationship));
  if (problems.length > 0) throw invalidCondition(problems);
  return { relationship, plain, others, hashed };
}

/** A fast path for equality with a text, the most common condition. Null: something else, or invalid. */
function equalityIn(given: GivenFilter, structure: Structure): Condition | null {
  if (!('operator' in given) || given.operator !== 'eq' || !('texts' in given.operand)) return null;
  const target = targetOf(given.name, structure);
  if (target === null) return null;
  const text = given.operand.texts[0] as string;
  if (typeof target === 'string') {
    const reading = readSystemValue(target, text);
    // a time that no record can have is not an equality
    return 'value' in reading && !reading.beyond ? equals(target, reading.value) : null;
  }
  const reading = readConditionValue(target, text);
  return 'value' in reading ? equals(target, reading.value) : null;
}

function equalityOf(filter: Filter): Condition | null {
  if ('group' in filter || filter.operator !== 'eq') return null;
  return filter.path.length > 0 ? null : equals(filter.target, filter.values[0] as Condition['value']);
}

function comparisonsIn(given: readonly GivenFilter[]): number {
  return given.reduce(
    (sum, one) =>
      sum + ('group' in one ? one.branches.reduce((more, each) => more + comparisonsIn(each), 0) : 1),
    0,
  );
}

function hashedProblems(
  hashed: readonly HashedCondition[],
  others: number,
  relationship: 'And' | 'Or',
): string[] {
  const first = hashed[0];
  if (first === undefined) return [];
  const name = shownName(first.field.name);
  if (hashed.length > maxHashedConditions) {
    return [
      `The query has ${hashed.length} conditions on hashed fields; at most ${maxHashedConditions} are allowed`,
    ];
  }
  if (relationship === 'Or') {
    return [`Query field: ${name} is hashed and can not be used with paramRelationship Or`];
  }
  if (others === 0) {
    return [`Query field: ${name} is hashed: it needs a condition on another field beside it`];
  }
  return [];
}
