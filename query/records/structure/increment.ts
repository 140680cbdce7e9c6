import { exactObject, type Schema } from '#kernel/json/schema.ts';
import type { StoredValue, ValueReading } from '../types/field-type.ts';
import { typeCan } from '../types/field-types.ts';
import { isObject } from '../types/is-object.ts';
import type { Field } from './field.ts';

/** In place of a new value: a number to add to the stored one, or to 0 if there is none. */
export interface Increment {
  readonly by: number;
}

/** A change of a value; null clears it. */
export type NewValue = StoredValue | Increment | null;

/** Small enough to be rounded away when added to the largest double, so no sum is infinite. */
const largest = 1e291;

export const incrementSchema: Schema = {
  ...exactObject({ $inc: { type: 'number', minimum: -largest, maximum: largest } }),
  description: 'Is added to the number that is stored, or to 0',
};

export function isIncrement(value: NewValue): value is Increment {
  return typeof value === 'object' && value !== null;
}

/** Reads `{"$inc": 1}`. Null: not an increment. */
export function readIncrement(
  { type, unique, hashed }: Field,
  given: unknown,
): { readonly value: Increment } | Extract<ValueReading, { problem: string }> | null {
  if (!typeCan(type, 'incremented') || !isObject(given) || !Object.hasOwn(given, '$inc')) return null;
  const { $inc: by, ...others } = given;
  if (Object.keys(others).length > 0) return { problem: 'should have nothing beside $inc' };
  if (typeof by !== 'number' || !(Math.abs(by) <= largest))
    return { problem: `should be a valid number: $inc is one from ${-largest} to ${largest}` };
  if (unique || hashed)
    return { problem: `can not be incremented: the field is ${unique ? 'unique' : 'hashed'}` };
  return { value: { by } };
}
