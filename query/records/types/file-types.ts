import { mostPrecision } from './decimal.ts';
import type { TypedField } from './field-types.ts';

/** The types of fields for what files have: their own types, as in Parquet and Arrow, or what their texts can only be. */
export const fileTypes = {
  text: { type: 'TEXT' },
  boolean: { type: 'BOOLEAN' },
  /** Up to 32 bits. */
  int: { type: 'INTEGER' },
  /** 64 bits, signed or not. */
  long: { type: 'BIGINT' },
  double: { type: 'NUMBER' },
  day: { type: 'DATE' },
  /** With or without a zone: a time without one is a problem, unless a reading says its zone. */
  time: { type: 'DATETIME' },
  list: { type: 'ARRAY' },
  struct: { type: 'OBJECT' },
} as const satisfies Readonly<Record<string, TypedField>>;

/** Files may have more digits: then values that have them do not fit. */
export function fileDecimal(precision: number, scale: number): TypedField {
  const most = Math.max(1, Math.min(precision, mostPrecision));
  return { type: 'DECIMAL', precision: most, scale: Math.min(scale, most) };
}
