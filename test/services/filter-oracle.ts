/**
 * What filters mean, in plain JavaScript: written from docs/api.md alone, and with nothing of the service. Slow and short
 * on purpose.
 */
import { isDeepStrictEqual } from 'node:util';

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type Row = { readonly id: string; readonly createdAt: string } & Readonly<Record<string, Json>>;
type Exact = 'DATETIME' | 'DATE' | 'INTEGER' | 'BIGINT' | 'DECIMAL';
export type Type = 'TEXT' | 'NUMBER' | 'BOOLEAN' | 'ARRAY' | 'OBJECT' | Exact | 'id' | 'time' | 'path';

/** Of times the operand is in milliseconds. */
export interface Comparison {
  readonly field: string;
  /** Keys within an OBJECT. */
  readonly path: readonly string[];
  readonly type: Type;
  readonly operator: string;
  readonly operand: Json;
  /** What a request says in place of the operand: something that is wrong. Of a body alone, without an operator. */
  readonly raw?: Json;
}
export interface Group {
  readonly group: '$or' | '$and' | '$not';
  readonly branches: readonly Branch[];
}
export type Item = Comparison | Group;
export type Branch = readonly Item[];

export interface Sort {
  readonly by: string;
  readonly type: Type;
  readonly order: 'asc' | 'desc';
}

const always = ['eq', 'ne', 'in', 'nin', 'exists'];
const ordered = ['gt', 'gte', 'lt', 'lte'];
const textual = ['contains', 'startsWith', 'endsWith', 'icontains', 'istartsWith', 'iendsWith'];

/** In the order in which errors list them. */
export const operatorsOf: Readonly<Record<Type, readonly string[]>> = {
  TEXT: [...always, ...ordered, ...textual],
  NUMBER: [...always, ...ordered],
  BOOLEAN: always,
  ARRAY: [...always, 'has', 'hasAny', 'hasAll', 'size'],
  OBJECT: ['eq', 'ne', 'exists'],
  DATETIME: [...always, ...ordered],
  DATE: [...always, ...ordered],
  INTEGER: [...always, ...ordered],
  BIGINT: [...always, ...ordered],
  DECIMAL: [...always, ...ordered],
  id: [...always, ...ordered],
  time: [...always, ...ordered],
  path: always,
};

export function holds(item: Item, row: Row): boolean {
  if ('group' in item) {
    const met = item.branches.map((branch) => branch.every((one) => holds(one, row)));
    if (item.group === '$and') return met.every(Boolean);
    return met.some(Boolean) === (item.group === '$or');
  }
  const value = valueIn(row, item);
  if (item.operator === 'exists') return (value !== null) === item.operand;
  return value !== null && isMet(item, value);
}

/** Null: it has none. */
function valueIn(row: Row, { field, path, type }: Pick<Comparison, 'field' | 'path' | 'type'>): Json {
  let value: Json = row[field] ?? null;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    value = Object.hasOwn(value, key) ? ((value as Record<string, Json>)[key] as Json) : null;
  }
  return type === 'time' && value !== null ? Date.parse(String(value)) : value;
}

function isMet({ operator, operand, type }: Comparison, value: Json): boolean {
  const isAmong = (wanted: Json, all: Json): boolean =>
    (all as Json[]).some((one) => isDeepStrictEqual(one, wanted));
  switch (operator) {
    case 'eq':
      return isDeepStrictEqual(value, operand);
    case 'ne':
      return !isDeepStrictEqual(value, operand);
    case 'in':
      return isAmong(value, operand);
    case 'nin':
      return !isAmong(value, operand);
    case 'gt':
      return compare(value, operand, type) > 0;
    case 'gte':
      return compare(value, operand, type) >= 0;
    case 'lt':
      return compare(value, operand, type) < 0;
    case 'lte':
      return compare(value, operand, type) <= 0;
    case 'has':
      return isAmong(operand, value);
    case 'hasAny':
      return (operand as Json[]).some((one) => isAmong(one, value));
    case 'hasAll':
      return (operand as Json[]).every((one) => isAmong(one, value));
    case 'size':
      return (value as Json[]).length === operand;
    default:
      return textMeets(operator, value as string, operand as string);
  }
}

function textMeets(operator: string, value: string, wanted: string): boolean {
  switch (operator) {
    case 'contains':
      return value.includes(wanted);
    case 'startsWith':
      return value.startsWith(wanted);
    case 'endsWith':
      return value.endsWith(wanted);
  }
  // letters are equal as these flags have it
  const literal = wanted.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  const before = operator === 'istartsWith' ? '^' : '';
  const behind = operator === 'iendsWith' ? '$' : '';
  return new RegExp(`${before}${literal}${behind}`, 'iu').test(value);
}

/** Texts by code point, and arrays and objects by their JSON. */
function compare(one: Json, other: Json, type: Type): number {
  if (type === 'BIGINT' || type === 'DECIMAL' || type === 'DATETIME') {
    const [a, b] = [digitsOf(one, type), digitsOf(other, type)];
    return a < b ? -1 : Number(a > b);
  }
  if (typeof one === 'number' || typeof one === 'boolean') return Number(one) - Number(other);
  const points = (value: Json): number[] =>
    Array.from(typeof value === 'string' ? value : json(value), (char) => char.codePointAt(0) as number);
  const [a, b] = [points(one), points(other)];
  const at = a.findIndex((point, index) => point !== b[index]);
  return at < 0 ? a.length - b.length : (a[at] as number) - (b[at] ?? -1);
}

/** Of a DECIMAL all digits, as all of a field have the same scale; of a DATETIME its microseconds. */
function digitsOf(value: Json, type: Type): bigint {
  const text = String(value);
  if (type !== 'DATETIME') return BigInt(text.replace('.', ''));
  return BigInt(Date.parse(text)) * 1000n + BigInt(text.slice(23, -1) || '0');
}

/** With the keys of objects in order. */
function json(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(json).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, one]) => `${JSON.stringify(key)}:${json(one)}`).join(',')}}`;
}

/** @param rows in the order of insertion */
export function sorted(rows: readonly Row[], sorts: readonly Sort[]): readonly Row[] {
  const last = sorts.at(-1);
  const isReversed = last !== undefined && last.type === 'time' && last.order === 'desc';
  return (isReversed ? rows.toReversed() : rows).toSorted((a, b) => {
    for (const { by, type, order } of sorts) {
      const [one, other] = [a, b].map((row) => valueIn(row, { field: by, path: [], type })) as [Json, Json];
      if (one === null && other === null) continue;
      if (one === null || other === null) return one === null ? 1 : -1;
      const difference = compare(one, other, type);
      if (difference !== 0) return order === 'asc' ? difference : -difference;
    }
    return 0;
  });
}
