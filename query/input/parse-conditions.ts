import { invalidCondition } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import type { QueryPairs } from '../../common/http/http-types.ts';
import { isRounded } from '../../common/http/rounded-integer.ts';
import {
  type Field,
  type FieldType,
  isSystemKey,
  type StoredValue,
  type SystemKey,
  type Target,
} from '../structure/field.ts';
import { hasLoneSurrogate, misfit, readFieldValue, type ValueReading } from '../structure/field-value.ts';
import type { Structure } from '../structure/structure.ts';
import { parseTime } from './parse-time.ts';
import { unknownCondition } from './unknown-condition.ts';

/** How a value is compared. */
export type Operator = 'eq';

/** A record without a value never matches. */
export interface Condition {
  readonly target: Target;
  readonly operator: Operator;
  readonly value: StoredValue | Date;
}

export function equals(target: Target, value: Condition['value']): Condition {
  return { target, operator: 'eq', value };
}

/** A value to be compared with stored hashes. */
export interface HashedCondition {
  readonly field: Field;
  readonly value: StoredValue;
}

export interface Conditions {
  readonly relationship: 'And' | 'Or';
  readonly plain: readonly Condition[];
  /** Only with `And`, and with at least one plain condition beside them. */
  readonly hashed: readonly HashedCondition[];
}

const maxConditions = 100;
/** Each is checked against every candidate, which takes milliseconds of a core. */
const maxHashedConditions = 5;

/**
 * Reads query parameters as conditions: fields by name or slug, `id`, `createdAt` and `updatedAt`.
 * Throws a 400 that lists every problem.
 */
export function parseConditions(
  pairs: QueryPairs,
  structure: Structure,
  relationship: 'And' | 'Or',
): Conditions {
  if (pairs.length > maxConditions) {
    throw invalidCondition([
      `The query has ${pairs.length} conditions; at most ${maxConditions} are allowed`,
    ]);
  }
  const problems: string[] = [];
  const plain: Condition[] = [];
  const hashed: HashedCondition[] = [];
  let listed = false;
  for (const [key, text] of pairs) {
    const field = structure.lookup.get(key);
    if (field === undefined && !isSystemKey(key)) {
      problems.push(unknownCondition(key, structure, !listed));
      listed = true;
      continue;
    }
    const reading = field === undefined ? readSystemValue(key, text) : readConditionValue(field.type, text);
    if ('problem' in reading) {
      problems.push(`Value for Query field: ${shownName(field?.name ?? key)} ${reading.problem}`);
    } else if (field === undefined) {
      plain.push(equals(key as SystemKey, reading.value));
    } else if (field.hashed) {
      hashed.push({ field, value: (reading as { value: StoredValue }).value });
    } else {
      plain.push(equals(field, reading.value));
    }
  }
  problems.push(...hashedProblems(hashed, plain, relationship));
  if (problems.length > 0) throw invalidCondition(problems);
  return { relationship, plain, hashed };
}

function readSystemValue(key: string, text: string): ValueReading | { readonly value: Date } {
  if (key === 'id') {
    return hasLoneSurrogate(text) ? { problem: 'should be a valid string' } : { value: text };
  }
  const time = parseTime(text);
  return time === null
    ? { problem: 'should be a valid time such as 2026-01-31T12:00:00.000Z' }
    : { value: time };
}

function hashedProblems(
  hashed: readonly HashedCondition[],
  plain: readonly Condition[],
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
  if (plain.length === 0) {
    return [`Query field: ${name} is hashed: it needs a condition on another field beside it`];
  }
  return [];
}

// as JSON writes numbers, and with a plus sign, leading zeros or without the zero before the point
const decimal = /^[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Converts the text of a query parameter by the declared type of its field (interface.md section 2.2 rule 1). */
export function readConditionValue(type: FieldType, text: string): ValueReading {
  switch (type) {
    case 'TEXT':
      return readFieldValue(type, text);
    case 'NUMBER':
      if (!decimal.test(text)) return misfit(type);
      if (/^\d+$/.test(text) && isRounded(text))
        return misfit(type, 'it has more digits than a number can hold');
      return readFieldValue(type, Number(text));
    case 'BOOLEAN':
      return text === 'true' || text === 'false' ? { value: text === 'true' } : misfit(type);
    case 'ARRAY':
    case 'OBJECT':
      return readJson(type, text);
  }
}

function readJson(type: FieldType, text: string): ValueReading {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return misfit(type);
  }
  return readFieldValue(type, value);
}
