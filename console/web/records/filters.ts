import { parseExactly, RoundedNumber } from '#kernel/json/rounded-number.ts';
import type { ColumnType } from './grid-columns.ts';
import { jsonProblem, readText } from './record-form.ts';

/** Operators of the API, and three combined ones: `between`, `empty` and `filled`. */
export const operatorWords = {
  eq: 'equals',
  icontains: 'contains',
  istartsWith: 'begins with',
  iendsWith: 'ends with',
  between: 'between',
  has: 'has',
  hasAny: 'has any of',
  hasAll: 'has all of',
  size: 'has length',
  path: 'has path',
  in: 'is one of',
  ne: 'is not',
  nin: 'is none of',
  gt: '>',
  gte: '≥',
  lt: '<',
  lte: '≤',
  empty: 'is empty',
  filled: 'is not empty',
  contains: 'contains exactly',
  startsWith: 'begins exactly with',
  endsWith: 'ends exactly with',
} as const;

export type FilterOperator = keyof typeof operatorWords;

const ordered = ['gt', 'gte', 'lt', 'lte'] as const;
const presence = ['empty', 'filled'] as const;
const lists = ['in', 'ne', 'nin'] as const;

/** Operators by type of column, the default first. */
export const operatorsOf: Readonly<
  Record<ColumnType, readonly [FilterOperator, ...(readonly FilterOperator[])]>
> = {
  TEXT: [
    ...(['eq', 'icontains', 'istartsWith', 'iendsWith'] as const),
    ...[...lists, ...presence, ...ordered],
    ...(['contains', 'startsWith', 'endsWith'] as const),
  ],
  NUMBER: ['eq', 'between', ...ordered, ...lists, ...presence],
  BOOLEAN: ['eq', 'ne', ...presence],
  ARRAY: ['eq', 'has', 'hasAny', 'hasAll', 'size', 'ne', ...presence],
  OBJECT: ['eq', 'path', 'ne', ...presence],
  ID: ['eq', ...lists, ...ordered],
  TIME: ['between', ...ordered, 'eq'],
};

export interface Filter {
  readonly operator: FilterOperator;
  /** As typed. Lists have commas, or are JSON; a range has `..` between its ends. */
  readonly text: string;
}

/** A part of the body of find. All conditions of a branch have to hold. */
export type Condition =
  | readonly [name: string, operator: string, value: unknown]
  | readonly [group: '$or' | '$not', branches: readonly Where[]];
export type Where = readonly Condition[];

export function takesText(operator: FilterOperator): boolean {
  return operator !== 'empty' && operator !== 'filled';
}

/** Whether the filter has an effect: an operator may be chosen before its value is typed. */
export function isActive({ operator, text }: Filter): boolean {
  return text !== '' || !takesText(operator);
}

export function rangeOf(text: string): readonly [from: string, to: string] {
  const [from = '', to = ''] = text.split('..');
  return [from, to];
}

export function textOfRange(from: string, to: string): string {
  return from === '' && to === '' ? '' : `${from}..${to}`;
}

export type ParsedFilter = { readonly where: Where } | { readonly problem: string };

/** The condition of a filter, or its problem. */
export function readFilter(name: string, type: ColumnType, { operator, text }: Filter): ParsedFilter {
  if (!operatorsOf[type].includes(operator)) return { problem: 'This filter does not apply to the field.' };
  try {
    return { where: conditionsOf(name, type, operator, text) };
  } catch (thrown) {
    if (thrown instanceof Unreadable) return { problem: thrown.message };
    if (thrown instanceof RoundedNumber) return { problem: jsonProblem(thrown) };
    throw thrown;
  }
}

class Unreadable extends Error {}

function conditionsOf(name: string, type: ColumnType, operator: FilterOperator, text: string): Where {
  switch (operator) {
    case 'empty':
    case 'filled': {
      const branches: Where[] = [[[name, 'exists', false]]];
      if (type === 'TEXT') branches.push([[name, 'eq', '']]);
      if (type === 'ARRAY') branches.push([[name, 'size', 0]]);
      return [[operator === 'empty' ? '$or' : '$not', branches]];
    }
    case 'between':
      return rangeConditions(name, type, text);
    case 'in':
    case 'nin':
      return [[name, operator, listIn(text).map((one) => valueIn(type, one))]];
    case 'has':
      return [[name, operator, elementIn(text)]];
    case 'hasAny':
    case 'hasAll':
      return [[name, operator, listIn(text).map(elementIn)]];
    case 'size':
      return [[name, operator, valueIn('NUMBER', text)]];
    case 'path': {
      const [, path, sign, value] = /^\s*([^=]+?)\s*(!?=)\s*(.*)$/s.exec(text) ?? [];
      if (path === undefined || value === undefined)
        throw new Unreadable('Write a path and a value: city=Paris, or city!=Paris.');
      return [[`${name}.${path}`, sign === '=' ? 'eq' : 'ne', elementIn(value)]];
    }
    default:
      return [[name, operator, valueIn(type, text)]];
  }
}

/** Either end may be missing. A range includes whole days, in UTC. */
function rangeConditions(name: string, type: ColumnType, text: string): Where {
  const [from, to] = rangeOf(text);
  const where: Condition[] = [];
  if (from !== '') where.push([name, 'gte', valueIn(type, from)]);
  if (to === '') return where;
  const end = valueIn(type, to);
  const isDay = type === 'TIME' && to.length === 'YYYY-MM-DD'.length;
  where.push(isDay ? [name, 'lt', dayAfter(to)] : [name, 'lte', end]);
  return where;
}

function dayAfter(day: string): string {
  return new Date(Date.parse(day) + 86_400_000).toISOString();
}

function valueIn(type: ColumnType, text: string): unknown {
  if (type === 'ID') return text;
  if (type === 'TIME') {
    if (/^\d{4}-\d\d-\d\d(t.+)?$/i.test(text) && !Number.isNaN(Date.parse(text))) return text;
    throw new Unreadable('Write a day or a time, such as 2026-01-31 or 2026-01-31T12:00:00Z.');
  }
  // the same messages as in the form
  const reading = readText(type, text);
  if ('problem' in reading) throw new Unreadable(reading.problem);
  return reading.value;
}

/** Texts between commas; where a text has a comma, all of them as a JSON array. */
function listIn(text: string): readonly string[] {
  try {
    const list = parseExactly(text);
    if (Array.isArray(list)) return list.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
  } catch (error) {
    if (error instanceof RoundedNumber) throw error;
    // not JSON
  }
  return text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}

/** As in a query: JSON numbers, booleans and quoted strings have their type; anything else is text. */
function elementIn(text: string): unknown {
  try {
    const value = parseExactly(text);
    return typeof value === 'object' ? text : value;
  } catch (error) {
    if (error instanceof RoundedNumber) throw error;
    return text;
  }
}
