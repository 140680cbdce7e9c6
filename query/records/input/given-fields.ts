import { invalidBody } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { type Field, isSystemKey } from '../structure/field.ts';
import type { Structure } from '../structure/structure.ts';
import { fieldTypes } from '../types/field-types.ts';
import { isObject } from '../types/is-object.ts';

export type Complain = (problem: string) => void;

/** Whether a body may be a record, or changes of one: a JSON object with at least one key. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && Object.keys(value).length > 0;
}

/** Throws a 400 for a body that can't be a record. */
export function requireRecord(body: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(body)) throw invalidBody('Request body should be a JSON object with at least one field');
  return body;
}

/**
 * The values of a body by the positions of their fields in the structure; null where the body says null, undefined where
 * it says nothing. The service sets `id`, `createdAt` and `updatedAt`: a body that has them is refused.
 */
export function givenValues(
  body: Readonly<Record<string, unknown>>,
  structure: Structure,
  complain: Complain,
): unknown[] {
  const { fields, places } = structure;
  const given: unknown[] = new Array(fields.length).fill(undefined);
  // only keys that the body itself has are read, so a field may be called `__proto__`
  for (const key of Object.keys(body)) {
    const place = places.get(key);
    if (place === undefined) complain(notAField(key));
    else if (given[place] !== undefined) complain(givenTwice(fields[place] as Field));
    else given[place] = body[key];
  }
  return given;
}

function notAField(key: string): string {
  return isSystemKey(key)
    ? `Body field: '${key}' is set by the service and can not be given`
    : `Body field: ${shownName(key)} is not in the structure`;
}

function givenTwice({ name }: Field): string {
  return `Body field: ${shownName(name)} is given twice, by name and by slug`;
}

/** An empty form field arrives as an empty text: for an optional number it counts as missing. */
export function withoutEmptyText({ type, required }: Field, value: unknown): unknown {
  return value === '' && fieldTypes[type].emptyIsMissing && !required ? null : value;
}
