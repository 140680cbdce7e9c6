import { shownName } from '../../common/errors/shown-name.ts';
import { type Field, isSystemKey } from '../structure/field.ts';
import type { Structure } from '../structure/structure.ts';

export type Complain = (problem: string) => void;

/** Whether a body may be a record, or changes of one: a JSON object with at least one key. */
export function isRecord(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.keys(value).length > 0;
}

/**
 * The values of a body by their fields, null where the body says null. `id`, `createdAt` and `updatedAt` are the
 * service's to set: a body that has them is refused.
 */
export function givenFields(
  body: object,
  structure: Structure,
  complain: Complain,
): ReadonlyMap<Field, unknown> {
  const given = new Map<Field, unknown>();
  // entries, not property access: a field may be called `__proto__` or `constructor`
  for (const [key, value] of Object.entries(body)) {
    const field = structure.lookup.get(key);
    if (field === undefined) complain(notAField(key));
    else if (given.has(field)) complain(givenTwice(field));
    else given.set(field, value);
  }
  return given;
}

/**
 * The same by the places of the fields in the structure, undefined where the body says nothing: for bodies of many
 * records.
 */
export function givenValues(body: object, structure: Structure, complain: Complain): unknown[] {
  const { fields, places } = structure;
  const given: unknown[] = new Array(fields.length).fill(undefined);
  // only keys that the body itself has are read, so a field may be called `__proto__`
  for (const key of Object.keys(body)) {
    const place = places.get(key);
    if (place === undefined) complain(notAField(key));
    else if (given[place] !== undefined) complain(givenTwice(fields[place] as Field));
    else given[place] = (body as Readonly<Record<string, unknown>>)[key];
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

/** A form field that was left empty gives an empty text: for a NUMBER that may be missing it is no value. */
export function withoutEmptyText({ type, required }: Field, value: unknown): unknown {
  return value === '' && type === 'NUMBER' && !required ? null : value;
}
