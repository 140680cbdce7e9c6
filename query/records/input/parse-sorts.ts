import { shownName } from '#kernel/errors/shown-name.ts';
import type { Target } from '../structure/field.ts';
import type { Structure } from '../structure/structure.ts';
import { typeEntry } from '../types/field-types.ts';
import { isObject } from '../types/is-object.ts';
import { targetOf } from './filters/names.ts';
import type { Complain } from './given-fields.ts';

export interface Sort {
  readonly target: Target;
  readonly descending: boolean;
}

/** The first sort decides, the next one breaks its ties, and ids break the last ties. */
export type Sorts = readonly [Sort, ...Sort[]];

export const maxSorts = 10;

/** Reads a sort, or an array of them. Null: in the order of insertion. @param label its name in problems */
export function parseSorts(
  value: unknown,
  structure: Structure,
  complain: Complain,
  label: string,
): Sorts | null {
  if (value === undefined || value === null) return null;
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length > maxSorts) {
    complain(`${label} has ${list.length} entries; at most ${maxSorts} are allowed`);
    return null;
  }
  const sorts: Sort[] = [];
  for (const [index, item] of list.entries()) {
    const name = Array.isArray(value) ? `${label}[${index}]` : label;
    const sort = readSort(item, structure, complain, name);
    if (sort === null) continue;
    if (sorts.some(({ target }) => target === sort.target))
      complain(`${name} names ${shownName(nameOf(sort.target))} again`);
    sorts.push(sort);
  }
  const [first, ...others] = sorts;
  return first === undefined ? null : [first, ...others];
}

function nameOf(target: Target): string {
  return typeof target === 'string' ? target : target.name;
}

function readSort(value: unknown, structure: Structure, complain: Complain, label: string): Sort | null {
  if (!isObject(value)) {
    complain(`${label} should be an object with by and order`);
    return null;
  }
  const { by, order } = value;
  if (order !== undefined && order !== 'asc' && order !== 'desc')
    complain(`${label}.order should be asc or desc`);
  // an order without a field orders nothing
  if (by === undefined || by === null || by === '') return null;
  if (typeof by !== 'string') {
    complain(`${label}.by should be the name of a field, id, createdAt or updatedAt`);
    return null;
  }
  const target = targetOf(by, structure);
  if (target === null) {
    complain(`${label}.by names ${shownName(by)}, which is not a field of the structure`);
    return null;
  }
  if (typeof target !== 'string' && target.hashed) {
    complain(`${label}.by names ${shownName(by)}, which is hashed`);
    return null;
  }
  if (typeof target !== 'string' && typeEntry(target.type).files !== undefined) {
    complain(`${label}.by names ${shownName(by)}, which is ${typeEntry(target.type).words} and has no order`);
    return null;
  }
  return { target, descending: order === 'desc' };
}
