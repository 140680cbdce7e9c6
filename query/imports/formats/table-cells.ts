import type { SourceRecord } from './source-record.ts';

/** Rows of a table as records. @param first the number of the first one */
export function rowsOf(rows: Iterable<readonly unknown[]>, first: number): readonly SourceRecord[] {
  return Array.from(rows, (cells, index) => ({ line: first + index, cells }));
}

/** A value as JSON has it. Bytes, and integers that a double would round, stay what they are: no field takes them. */
export function plainValue(value: unknown): unknown {
  switch (typeof value) {
    case 'undefined':
      return null;
    case 'bigint':
      return BigInt(Number(value)) === value ? Number(value) : value;
    case 'object':
      return value === null ? null : plainObject(value);
    default:
      return value;
  }
}

function plainObject(value: object): unknown {
  if (value instanceof Uint8Array) return value;
  // a time that is none is a problem of its field
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? Number.NaN : value.toISOString();
  if (Array.isArray(value)) return value.map(plainValue);
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as ArrayLike<unknown>, plainValue);
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  return Object.fromEntries(entries.map(([key, one]) => [String(key), plainValue(one)]));
}
