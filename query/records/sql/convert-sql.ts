import { textLiteral } from '#engine/literal.ts';
import type { Field, FieldType } from '../structure/field.ts';
import type { Normalization } from '../structure/normalize.ts';
import { kindOf, slotOf } from '../structure/slots.ts';
import { textsSql } from './value-sql.ts';

/** SQL for the values of a field as values of another type, over records that have one. */
export interface Conversion {
  /** Whether a value can be converted. */
  readonly fits: string;
  /** The new value as text for `_doc`, and for the column of a slot that is one. */
  readonly text: string;
  readonly column: string;
}

/**
 * How values are converted to another type, only where nothing is lost: numbers and booleans to their JSON
 * texts, and such texts back. Null: no value can be converted.
 */
export function conversionOf(from: Field, to: FieldType): Conversion | null {
  const text = docText(from);
  const scalar = from.type === 'NUMBER' || from.type === 'BOOLEAN';
  if (from.hashed) return null;
  if (scalar && to === 'TEXT') return { fits: '1', text, column: text };
  if (from.type !== 'TEXT') return null;
  if (to === 'BOOLEAN') {
    return { fits: `${text} IN ('true', 'false')`, text, column: `CAST(${text} = 'true', 'Bool')` };
  }
  return to === 'NUMBER' ? numberOf(text) : null;
}

/** Characters that JavaScript trims from an ASCII text. */
const spaces = ' \t\n\v\f\r';

/** Whether a text has letters beyond ASCII: only there may the engine and JavaScript differ. */
export function isBeyondAscii(field: Field): string {
  const text = docText(field);
  return `length(${text}) != lengthUTF8(${text})`;
}

/** How stored texts are normalized for a field. @param others texts beyond ASCII that change */
export function normalizedBy(
  field: Field,
  steps: readonly Normalization[],
  others: ReadonlyMap<string, string>,
): Conversion {
  let text = docText(field);
  if (steps.includes('trim')) text = `trimBoth(${text}, ${textLiteral(spaces)})`;
  if (steps.includes('lower')) text = `lower(${text})`;
  text = `if(${isBeyondAscii(field)}, ${docText(field)}, ${text})`;
  if (others.size > 0)
    text = `transform(${docText(field)}, ${textsSql([...others.keys()])}, ${textsSql([...others.values()])}, ${text})`;
  return { fits: '1', text, column: text };
}

/** The value of a field as its text. */
export function docText(field: Field): string {
  return `_doc[${textLiteral(slotOf(field))}]`;
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

/** A number as `_doc` stores it: as JavaScript writes it. */
export function numberText(number: string): string {
  return `replaceRegexpOne(toString(${number}), 'e([0-9])', 'e+\\\\1')`;
}

export function hasValueSql(field: Field): string {
  const slot = slotOf(field);
  return `mapContains(${kindOf(slot) === 'h' ? '_hashes' : '_doc'}, ${textLiteral(slot)})`;
}
