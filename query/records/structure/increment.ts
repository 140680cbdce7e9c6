import type { ApiError } from '#kernel/errors/api-error.ts';
import { invalidValue } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { exactObject, type Schema } from '#kernel/json/schema.ts';
import type { Addition, StoredValue, ValueReading } from '../types/field-type.ts';
import { readFieldValue, typeEntry, typeText } from '../types/field-types.ts';
import { isObject } from '../types/is-object.ts';
import type { Field } from './field.ts';

/** In place of a new value: what is added to the stored one, or to 0 if there is none. */
export interface Increment {
  readonly by: StoredValue;
  readonly field: Field;
}

/** A change of a value; null clears it. */
export type NewValue = StoredValue | Increment | null;

/** Null: values of the field can't be incremented. */
export function incrementSchema({ type, unique, hashed }: Field): Schema | null {
  const { addition, schema } = typeEntry(type);
  if (addition === undefined || unique || hashed) return null;
  const { most } = addition;
  return {
    ...exactObject({ $inc: most === undefined ? schema : { ...schema, minimum: -most, maximum: most } }),
    description: 'Is added to the number that is stored, or to 0',
  };
}

export function isIncrement(value: NewValue): value is Increment {
  return typeof value === 'object' && value !== null;
}

/** Reads `{"$inc": 1}`. Null: not an increment. */
export function readIncrement(
  field: Field,
  given: unknown,
): { readonly value: Increment } | Extract<ValueReading, { problem: string }> | null {
  const { addition } = typeEntry(field.type);
  if (addition === undefined || !isObject(given) || !Object.hasOwn(given, '$inc')) return null;
  const { $inc: by, ...others } = given;
  if (Object.keys(others).length > 0) return { problem: 'should have nothing beside $inc' };
  const reading = readBy(field, addition, by);
  if ('problem' in reading) return reading;
  if (field.unique || field.hashed)
    return { problem: `can not be incremented: the field is ${field.unique ? 'unique' : 'hashed'}` };
  return { value: { by: reading.value, field } };
}

function readBy(field: Field, { most }: Addition, by: unknown): ValueReading {
  if (most === undefined) return readFieldValue(field, by);
  return typeof by === 'number' && Math.abs(by) <= most
    ? { value: by }
    : { problem: `should be a valid number: $inc is one from ${-most} to ${most}` };
}

export function additionOf({ field }: Increment): Addition {
  return typeEntry(field.type).addition as Addition;
}

/** The sum as it is stored. Throws a 400 if it is no value of the field. @param stored absent: there is no value */
export function sumOf(increment: Increment, stored: string | undefined): string {
  const { by, field } = increment;
  const sum = additionOf(increment).sum(stored, by, field);
  if (sum === null) throw sumOutOfRange(field);
  return sum;
}

export function sumOutOfRange(field: Field): ApiError {
  const reason = `the sum would be outside the range of ${typeText(field)}`;
  return invalidValue([`Body field: ${shownName(field.name)} can not be incremented: ${reason}`]);
}
