import { parseExactly, RoundedNumber } from '#kernel/json/rounded-number.ts';
import { columnTypes, type TypedColumn } from './field-types.ts';
import type { FilterOperator } from './filter-operators.ts';
import { jsonProblem } from './read-value.ts';

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
export function readFilter(name: string, column: TypedColumn, { operator, text }: Filter): ParsedFilter {
  if (!columnTypes[column.type].operators.includes(operator))
    return { problem: 'This filter does not apply to the field.' };
  try {
    return { where: conditionsOf(name, column, operator, text) };
  } catch (thrown) {
    if (thrown instanceof Unreadable) return { problem: thrown.message };
    if (thrown instanceof RoundedNumber) return { problem: jsonProblem(thrown) };
    throw thrown;
  }
}

class Unreadable extends Error {}

function conditionsOf(name: string, column: TypedColumn, operator: FilterOperator, text: string): Where {
  switch (operator) {
    case 'empty':
    case 'filled': {
      const branches: Where[] = [[[name, 'exists', false]]];
      const { blank } = columnTypes[column.type];
      if (blank !== undefined) branches.push([[name, ...blank]]);
      return [[operator === 'empty' ? '$or' : '$not', branches]];
    }
    case 'between':
      return rangeConditions(name, column, text);
    case 'in':
    case 'nin':
      return [[name, operator, listIn(text).map((one) => valueIn(column, one))]];
    case 'has':
      return [[name, operator, elementIn(text)]];
    case 'hasAny':
    case 'hasAll':
      return [[name, operator, listIn(text).map(elementIn)]];
    case 'size':
      return [[name, operator, valueIn({ type: 'NUMBER' }, text)]];
    case 'path': {
      const [, path, sign, value] = /^\s*([^=]+?)\s*(!?=)\s*(.*)$/s.exec(text) ?? [];
      if (path === undefined || value === undefined)
        throw new Unreadable('Write a path and a value: city=Paris, or city!=Paris.');
      return [[`${name}.${path}`, sign === '=' ? 'eq' : 'ne', elementIn(value)]];
    }
    default:
      return [[name, operator, valueIn(column, text)]];
  }
}

/** Either end may be missing. A range of times includes whole days, in UTC. */
function rangeConditions(name: string, column: TypedColumn, text: string): Where {
  const [from, to] = rangeOf(text);
  const where: Condition[] = [];
  if (from !== '') where.push([name, 'gte', valueIn(column, from)]);
  if (to === '') return where;
  const end = valueIn(column, to);
  const isDay = columnTypes[column.type].hasClock === true && to.length === 'YYYY-MM-DD'.length;
  where.push(isDay ? [name, 'lt', dayAfter(to)] : [name, 'lte', end]);
  return where;
}

function dayAfter(day: string): string {
  return new Date(Date.parse(day) + 86_400_000).toISOString();
}

function valueIn(column: TypedColumn, text: string): unknown {
  // the same messages as in the form
  const { read, readInFilter = read } = columnTypes[column.type];
  const reading = readInFilter(text, column);
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
