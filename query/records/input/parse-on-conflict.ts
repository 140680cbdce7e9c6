import { invalidOptions } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { Field } from '../structure/field.ts';
import type { Structure } from '../structure/structure.ts';
import { isObject } from '../types/is-object.ts';

/** How an insert treats a stored record with the same value of a unique field. */
export interface OnConflict {
  readonly field: Field;
  readonly do: 'update' | 'skip';
}

/** `onConflict` of the options header; other options don't apply to inserts. Null: none. Throws a 400. */
export function parseOnConflict(header: string | undefined, structure: Structure): OnConflict | null {
  if (header === undefined || !header.includes('onConflict')) return null;
  let input: unknown;
  try {
    input = JSON.parse(header);
  } catch (cause) {
    throw invalidOptions(['The options header is not valid JSON'], cause);
  }
  const given = isObject(input) ? input.onConflict : undefined;
  if (given === undefined || given === null) return null;
  if (!isObject(given) || Object.keys(given).some((key) => key !== 'field' && key !== 'do'))
    throw invalidOptions(['Options: onConflict should be an object with field and do']);
  const { field: name, do: action } = given;
  const field = typeof name === 'string' ? structure.lookup.get(name) : undefined;
  const problems: string[] = [];
  if (field === undefined || !field.unique)
    problems.push(
      `Options: onConflict.field should be a unique field; ${typeof name === 'string' ? shownName(name) : 'this'} is none`,
    );
  if (action !== 'update' && action !== 'skip')
    problems.push('Options: onConflict.do should be update or skip');
  if (problems.length > 0) throw invalidOptions(problems);
  return { field: field as Field, do: action as OnConflict['do'] };
}
