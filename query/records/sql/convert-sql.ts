import { textLiteral } from '#engine/literal.ts';
import type { Field } from '../structure/field.ts';
import { kindOf, slotOf } from '../structure/slots.ts';
import type { Conversion } from '../types/field-type.ts';
import { type TypedField, typeEntry } from '../types/field-types.ts';
import type { Normalization } from '../types/normalize.ts';
import { textsSql } from './value-sql.ts';

/**
 * How the values of a field are converted to another type, only where nothing is lost. Null: no value can be converted.
 */
export function conversionOf(from: Field, to: TypedField): Conversion | null {
  if (from.hashed) return null;
  return typeEntry(from.type).conversions[to.type]?.(docText(from), from, to) ?? null;
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

export function hasValueSql(field: Field): string {
  const slot = slotOf(field);
  return `mapContains(${kindOf(slot) === 'h' ? '_hashes' : '_doc'}, ${textLiteral(slot)})`;
}
