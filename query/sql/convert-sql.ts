import { textLiteral } from '../../common/clickhouse/literal.ts';
import type { Field, FieldType } from '../structure/field.ts';
import { kindOf, slotOf } from '../structure/slots.ts';

/** SQL for the values of a field as values of another type, over records that have one. */
export interface Conversion {
  /** Whether a value has its like in the other type. */
  readonly fits: string;
  /** The new value as text for `_doc`, and for the column of a slot that is one. */
  readonly text: string;
  readonly column: string;
}

/**
 * How values become those of another type. Only where nothing is lost: numbers and booleans as the texts that JSON has for
 * them, and texts that are such. Null: no value of the one is one of the other.
 */
export function conversionOf(from: Field, to: FieldType): Conversion | null {
  const text = `_doc[${textLiteral(slotOf(from))}]`;
  const scalar = from.type === 'NUMBER' || from.type === 'BOOLEAN';
  if (from.hashed) return null;
  if (scalar && to === 'TEXT') return { fits: '1', text, column: text };
  if (from.type !== 'TEXT') return null;
  if (to === 'BOOLEAN') {
    return { fits: `${text} IN ('true', 'false')`, text, column: `CAST(${text} = 'true', 'Bool')` };
  }
  return to === 'NUMBER' ? numberOf(text) : null;
}

/**
 * A text is a number when it is how JavaScript writes that number, zeros behind its fraction aside: `12`, `-0.50` and
 * `1e+21`, and neither `007` nor digits that a double does not hold. Both write the shortest digits that are read as the
 * same double, so the conversion is exact; the engine's exponents have no plus.
 */
function numberOf(text: string): Conversion {
  const withoutZeros = `replaceRegexpOne(${text}, ${textLiteral('(\\.[0-9]*[1-9])0+$')}, '\\\\1')`;
  const short = `replaceRegexpOne(${withoutZeros}, ${textLiteral('\\.0+$')}, '')`;
  const number = `toFloat64OrNull(${short})`;
  const written = numberText(number);
  const fits = `ifNull(isFinite(${number}) AND ${written} = ${short} AND ${short} != '-0', false)`;
  return { fits, text: short, column: number };
}

/** A number as `_doc` has it: as JavaScript writes it. */
export function numberText(number: string): string {
  return `replaceRegexpOne(toString(${number}), 'e([0-9])', 'e+\\\\1')`;
}

export function hasValueSql(field: Field): string {
  const slot = slotOf(field);
  return `mapContains(${kindOf(slot) === 'h' ? '_hashes' : '_doc'}, ${textLiteral(slot)})`;
}
