import { FileProblem } from './file-problem.ts';
import type { SourceRecord } from './source-record.ts';
import { DecimalCell, UnfitCell } from './typed-cells.ts';

/** Rows of a table as records. @param first the number of the first row */
export function rowsOf(rows: Iterable<readonly unknown[]>, first: number): readonly SourceRecord[] {
  return Array.from(rows, (cells, index) => ({ line: first + index, cells }));
}

/** Bytes of a text that is not UTF-8. Its cell gets a problem. */
export class UndecodedText extends Uint8Array {
  /** Readers convert the keys of maps to strings. */
  override toString(): never {
    throw new FileProblem(null, 'a key of one of its maps is not valid UTF-8');
  }
}

/**
 * Converts a value to JSON. Values that JSON can not hold stay as they are: bytes, numbers that a double would round, and
 * numbers that are not finite, unless `nanIsNull`.
 */
export function plainValue(value: unknown, nanIsNull = false): unknown {
  switch (typeof value) {
    case 'undefined':
      return null;
    case 'number':
      return nanIsNull && !Number.isFinite(value) ? null : value;
    case 'bigint':
      return BigInt(Number(value)) === value ? Number(value) : value;
    case 'object':
      return value === null ? null : plainObject(value, nanIsNull);
    default:
      return value;
  }
}

function plainObject(value: object, nanIsNull: boolean): unknown {
  if (value instanceof Uint8Array || value instanceof UnfitCell) return value;
  if (value instanceof DecimalCell) return value.number ?? value;
  if (Array.isArray(value)) return value.map((item) => plainValue(item, nanIsNull));
  if (ArrayBuffer.isView(value))
    return Array.from(value as unknown as ArrayLike<unknown>, (item) => plainValue(item, nanIsNull));
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  return Object.fromEntries(entries.map(([key, item]) => [plainKey(key), plainValue(item, nanIsNull)]));
}

function plainKey(key: unknown): string {
  if (key instanceof UnfitCell) throw new FileProblem(null, `a key of one of its maps ${key.reason}`);
  return key instanceof DecimalCell ? key.text : String(key);
}

/** Why no field can hold a plain value, as the end of a sentence about it; null: one can. */
export function unfitReason(value: unknown): string | null {
  switch (typeof value) {
    case 'bigint':
      return 'has more digits than a NUMBER can hold';
    case 'number':
      return Number.isFinite(value) ? null : `is ${value}, which no field holds; nan=null makes it null`;
    case 'object':
      if (value instanceof DecimalCell) return 'has more digits than a NUMBER can hold';
      if (value instanceof UndecodedText) return 'is not valid UTF-8';
      if (value instanceof Uint8Array) return 'is bytes, which no field holds';
      return value instanceof UnfitCell ? value.reason : null;
    default:
      return null;
  }
}

/** The same for the values inside a plain array or object. */
export function unfitPart(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null;
  for (const item of Array.isArray(value) ? value : Object.values(value)) {
    const reason = unfitReason(item);
    if (reason !== null) return `a value in it ${reason}`;
    const inside = unfitPart(item);
    if (inside !== null) return inside;
  }
  return null;
}
