import { parseExactly, RoundedNumber } from '#kernel/json/rounded-number.ts';
import type { Structure } from '../structure/structure.ts';
import { isObject } from '../types/is-object.ts';
import { targetOf } from './filters/names.ts';
import type { Complain } from './given-fields.ts';

/** Keys of a query or a body that are not conditions; docs/api.md, "Controls". */
export const controlNames = ['$select', '$sort', '$limit', '$page', '$after', '$count'] as const;
export type ControlName = (typeof controlNames)[number];

/** The given values by name, in order: texts of a query, or JSON of a body. */
export type Controls = ReadonlyMap<ControlName, readonly unknown[]>;

/** As in most requests. */
export const noControls: Controls = new Map();

interface SplitConditions<Conditions> {
  readonly conditions: Conditions;
  readonly controls: Controls;
}

const dollar = 0x24;
// clients write arrays as $select[0]=name and $select[]=name
const listed = /^(\$select|\$sort)\[\d*\]$/;

/** The control that a key stands for. A field of that name comes first. */
function controlOf(key: string, structure: Structure): ControlName | null {
  if (key.charCodeAt(0) !== dollar || targetOf(key, structure) !== null) return null;
  const name = listed.exec(key)?.[1] ?? key;
  return (controlNames as readonly string[]).includes(name) ? (name as ControlName) : null;
}

function splitEntries<Entry extends readonly [string, unknown, ...unknown[]]>(
  entries: readonly Entry[],
  structure: Structure,
): SplitConditions<readonly Entry[]> {
  let controls: Map<ControlName, unknown[]> | null = null;
  for (const [key, value] of entries) {
    const name = controlOf(key, structure);
    if (name === null) continue;
    controls ??= new Map();
    controls.set(name, [...(controls.get(name) ?? []), value]);
  }
  if (controls === null) return { conditions: entries, controls: noControls };
  return { conditions: entries.filter(([key]) => controlOf(key, structure) === null), controls };
}

/** Names and values in the order of a query string. */
type Pairs = readonly (readonly [name: string, value: string])[];

export const splitQuery: (pairs: Pairs, structure: Structure) => SplitConditions<Pairs> = splitEntries;

/** The same of the parsed JSON of a body. */
export function splitBody(body: unknown, structure: Structure): SplitConditions<unknown> {
  const none = { conditions: body, controls: noControls };
  if (typeof body !== 'object' || body === null) return none;
  const entries: readonly unknown[] = Array.isArray(body) ? body : Object.entries(body);
  // a text that is not an entry is refused where conditions are read
  if (!entries.every(isEntry)) return none;
  const split = splitEntries(entries, structure);
  return split.controls.size === 0 ? none : split;
}

function isEntry(entry: unknown): entry is readonly [string, unknown] {
  return Array.isArray(entry) && typeof entry[0] === 'string';
}

/** The controls of a query and of a body together. */
export function bothControls(one: Controls, other: Controls): Controls {
  if (one.size === 0 || other.size === 0) return one.size === 0 ? other : one;
  const names = controlNames.filter((name) => one.has(name) || other.has(name));
  return new Map(names.map((name) => [name, [...(one.get(name) ?? []), ...(other.get(name) ?? [])]]));
}

/** The options of a header and controls together, and the name of each in problems. */
export interface GivenOptions {
  readonly input: Readonly<Record<string, unknown>>;
  readonly labels: Readonly<Record<'sort' | 'select' | 'limit' | 'page' | 'after', string>>;
}

/** Puts controls into the form of the `options` header. An option in both is a problem. */
export function withControls(
  header: Readonly<Record<string, unknown>>,
  controls: Controls,
  structure: Structure,
  complain: Complain,
): GivenOptions {
  const pagination = isObject(header.pagination) ? header.pagination : {};
  const label = (key: string, path = ''): string =>
    controls.has(`$${key}` as ControlName) ? `$${key}` : path + key;
  const input: Record<string, unknown> = { ...header };
  const pages: Record<string, unknown> = { ...pagination };
  for (const [name, values] of controls) {
    const key = name.slice(1);
    const isList = name === '$sort' || name === '$select';
    const isPage = name === '$limit' || name === '$page' || name === '$after';
    if ((isPage ? pagination : header)[key] !== undefined && (header[key] ?? pagination[key]) !== null)
      complain(
        `${name} and ${isPage ? 'pagination.' : ''}${key} of the options header say the same: send one of them`,
      );
    if (!isList && values.length > 1) complain(`${name} is given ${values.length} times`);
    if (name === '$sort') input.sort = values.flatMap((value) => sortsIn(value, structure));
    else if (name === '$select') input.select = values.flatMap((value) => selectedIn(value, structure));
    else if (isPage) pages[key] = name === '$after' ? afterIn(values[0], complain) : values[0];
  }
  if (Object.keys(pages).length > 0) input.pagination = pages;
  const isSorted = [input.sort].flat().some((sort) => isObject(sort) && Boolean(sort.by) && sort.by !== 'id');
  const [after] = controls.get('$after') ?? [];
  // an id without values would mean a record without a value
  if (isSorted && typeof after === 'string' && !after.startsWith('{'))
    complain('$after should be JSON with id and value: records are sorted by a field');
  const labels = {
    sort: label('sort'),
    select: label('select'),
    limit: label('limit', 'pagination.'),
    page: label('page', 'pagination.'),
    after: label('after', 'pagination.'),
  };
  return { input, labels };
}

/** `-age,name`; a list; or the form of the header. */
function sortsIn(value: unknown, structure: Structure): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap((one) => sortsIn(one, structure));
  if (typeof value !== 'string') return [value];
  const isName = (text: string): boolean => targetOf(text, structure) !== null;
  const isDown = (text: string): boolean => text.startsWith('-') && !isName(text);
  // a name may have a comma
  const isOne = isName(value) || (isDown(value) && isName(value.slice(1)));
  return (isOne ? [value] : value.split(',')).map((text) =>
    isDown(text) ? { by: text.slice(1), order: 'desc' } : { by: text },
  );
}

function selectedIn(value: unknown, structure: Structure): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value !== 'string' || targetOf(value, structure) !== null) return [value];
  return value.split(',');
}

/** An id, or the form of the header. */
function afterIn(value: unknown, complain: Complain): unknown {
  if (typeof value !== 'string') return value;
  if (!value.startsWith('{')) return { id: value };
  try {
    return parseExactly(value);
  } catch (error) {
    const isRounded = error instanceof RoundedNumber;
    complain(`$after${isRounded ? `: ${error.message}` : ' should be an id, or JSON with id and value'}`);
    return undefined;
  }
}
