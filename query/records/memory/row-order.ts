import type { Sort, Sorts } from '../input/parse-sorts.ts';
import { createdAt, idSpan, type Span, updatedAt, valueSpan } from '../sql/packed-row.ts';
import type { Target } from '../structure/field.ts';
import { slotOf } from '../structure/slots.ts';
import { typeEntry } from '../types/field-types.ts';
import type { ValueOrder } from '../types/value-order.ts';

/** An order of rows; ids break ties, as in `orderSql`. Rows without a value come last. */
export interface RowOrder {
  /** The slot of a field, or a system key. */
  readonly by: string;
  readonly kind: 'id' | 'time' | ValueOrder;
  readonly descending: boolean;
  /** The order of rows that are equal in this one; null: by id. */
  readonly next: RowOrder | null;
}

export const idOrder: RowOrder = { by: 'id', kind: 'id', descending: false, next: null };

export function orderOf(sort: Sorts | null): RowOrder {
  if (sort === null) return idOrder;
  let order: RowOrder | null = null;
  for (let at = sort.length - 1; at >= 0; at--) {
    const { target, descending } = sort[at] as Sort;
    order = { by: keyOfTarget(target), kind: kindOf(target), descending, next: order };
  }
  return order as RowOrder;
}

/** The slot of a field, or the system key itself. */
export function keyOfTarget(target: Target): string {
  return typeof target === 'string' ? target : slotOf(target);
}

function kindOf(target: Target): RowOrder['kind'] {
  if (typeof target === 'string') return target === 'id' ? 'id' : 'time';
  return typeEntry(target.type).order;
}

export function sameOrder(a: RowOrder, b: RowOrder): boolean {
  if (a.by !== b.by || a.descending !== b.descending) return false;
  return a.next === null || b.next === null ? a.next === b.next : sameOrder(a.next, b.next);
}

const [span, other]: [Span, Span] = [
  { start: 0, end: 0 },
  { start: 0, end: 0 },
];
const names = new Map<string, Uint8Array>();

export function nameOf(slot: string): Uint8Array {
  let name = names.get(slot);
  if (name === undefined) {
    name = Buffer.from(slot);
    names.set(slot, name);
  }
  return name;
}

/** Of a row without a value. */
const last = Number.POSITIVE_INFINITY;

/**
 * A prefix of the sort key, as a number: of values as their type has it, of ids the time and the counter. NaN: the id is
 * not a UUID, which has no such number.
 */
export function orderKey({ by, kind, descending }: RowOrder, bytes: Buffer, row: number): number {
  const key = ascendingKey(by, kind, bytes, row);
  return descending && key !== last ? -key : key;
}

function ascendingKey(by: string, kind: RowOrder['kind'], bytes: Buffer, row: number): number {
  if (kind === 'id') return idKey(bytes, row);
  if (kind === 'time') return by === 'createdAt' ? createdAt(bytes, row) : updatedAt(bytes, row);
  if (!valueSpan(bytes, row, nameOf(by), span)) return last;
  return kind.key(bytes, span.start, span.end);
}

/** The first twelve digits of a UUID, and of version 7 the digits of its counter as well: 53 bits until the year 2039. */
function idKey(bytes: Buffer, row: number): number {
  idSpan(bytes, row, span);
  const { start, end } = span;
  if (end - start !== 36 || bytes[start + 8] !== 0x2d) return Number.NaN;
  const time = withDigits(withDigits(0, bytes, start, start + 8), bytes, start + 9, start + 13);
  const version = bytes[start + 14] as number;
  if (version === 0x37) return withDigits(time, bytes, start + 15, start + 18);
  return time * 4096 + (version < 0x37 ? 0 : 4095);
}

/** A number with hexadecimal digits behind it; NaN: these are none. */
function withDigits(number: number, bytes: Buffer, start: number, end: number): number {
  let result = number;
  for (let at = start; at < end; at++) {
    const char = bytes[at] as number;
    // 0 to 9, and a to f
    if (char >= 0x30 && char <= 0x39) result = result * 16 + char - 0x30;
    else if (char >= 0x61 && char <= 0x66) result = result * 16 + char - 0x57;
    else return Number.NaN;
  }
  return result;
}

/** Compares two rows of one `orderKey`. */
export function compareTie(order: RowOrder, a: Buffer, rowA: number, b: Buffer, rowB: number): number {
  const { kind, descending, next } = order;
  const first = compareFirst(order, a, rowA, b, rowB);
  if (first !== 0 || kind === 'id') return first;
  if (next !== null) {
    const [keyA, keyB] = [orderKey(next, a, rowA), orderKey(next, b, rowB)];
    // ids that are not UUIDs have no key
    if (keyA !== keyB && next.kind !== 'id') return keyA < keyB ? -1 : 1;
    return compareTie(next, a, rowA, b, rowB);
  }
  const result = compareIds(a, rowA, b, rowB);
  return descending && kind === 'time' ? -result : result;
}

/** The same by only the first part of the order. */
export function compareFirst(order: RowOrder, a: Buffer, rowA: number, b: Buffer, rowB: number): number {
  const { by, kind, descending } = order;
  let result = 0;
  if (kind === 'id') result = compareIds(a, rowA, b, rowB);
  else if (kind !== 'time' && kind.ties !== null) {
    if (valueSpan(a, rowA, nameOf(by), span) && valueSpan(b, rowB, nameOf(by), other))
      result = kind.ties(a, span.start, span.end, b, other.start, other.end);
  }
  return descending ? -result : result;
}

/** Ids with the same `orderKey` differ in a few later bytes: a loop finds them faster than a native call. */
function compareIds(a: Buffer, rowA: number, b: Buffer, rowB: number): number {
  idSpan(a, rowA, span);
  idSpan(b, rowB, other);
  const length = Math.min(span.end - span.start, other.end - other.start);
  for (let at = 0; at < length; at++) {
    const difference = (a[span.start + at] as number) - (b[other.start + at] as number);
    if (difference !== 0) return difference;
  }
  return span.end - span.start - (other.end - other.start);
}

function compareSpans(a: Buffer, b: Buffer): number {
  return a.compare(b, other.start, other.end, span.start, span.end);
}

export function sameValue(slot: string, a: Buffer, rowA: number, b: Buffer, rowB: number): boolean {
  const name = nameOf(slot);
  const has = valueSpan(a, rowA, name, span);
  if (has !== valueSpan(b, rowB, name, other)) return false;
  return !has || (span.end - span.start === other.end - other.start && compareSpans(a, b) === 0);
}
