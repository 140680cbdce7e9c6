import { type Call, type Client, json, send } from './client.ts';
import {
  type Fields,
  type Selectable,
  type ShownName,
  type Space,
  structureOf,
  type Where,
} from './space.ts';

export interface Abortable {
  readonly signal?: AbortSignal | undefined;
}

type Sortable<Of extends Fields> = ShownName<Of> | 'id';

/** Which records to find, their order, and the fields to answer (docs/api.md, "Controls"). */
export interface FindOptions<Of extends Fields, Select extends Selectable<Of> = never> extends Abortable {
  readonly where?: Where<Of>;
  /** A minus sorts in descending order. By default records come in the order of insertion. */
  readonly sort?: readonly (Sortable<Of> | `-${Sortable<Of>}`)[];
  readonly limit?: number;
  /** From 1; with `limit`. */
  readonly page?: number;
  /** Fields, and paths within an OBJECT; by default whole records. */
  readonly select?: readonly Select[];
}

/** The last record of the previous page, with its values of the fields that are sorted by. */
export interface After {
  readonly id: string;
  readonly values?: readonly unknown[] | undefined;
}

/** JSON for a header, which may have only ASCII. */
export function headerJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Returns the conditions. Throws if one is undefined: JSON would drop it, and the request would match too many records. */
export function checked(where: unknown): object {
  for (const [name, value] of Object.entries(where ?? {})) {
    if (value === undefined) throw new TypeError(`The condition ${name} is undefined`);
    if (typeof value === 'object') checked(value);
  }
  return where ?? {};
}

/** The body of a find. */
export function findBody<Of extends Fields, Select extends Selectable<Of>>(
  options: FindOptions<Of, Select> & { readonly after?: After | undefined },
): object {
  const { where, sort: $sort, limit: $limit, page: $page, select: $select, after: $after } = options;
  return { ...checked(where), $sort, $limit, $page, $select, $after };
}

export function pathOf({ project }: Client, slug: string): string {
  return `/${encodeURIComponent(project)}/${encodeURIComponent(slug)}`;
}

const structures = new WeakMap<Space, readonly [project: string, text: string]>();

/** The header `structure`. */
export function structureHeader({ project }: Client, space: Space): string {
  const known = structures.get(space);
  if (known?.[0] === project) return known[1];
  const text = headerJson(structureOf(space, project));
  structures.set(space, [project, text]);
  return text;
}

/** Sends a request about the records of a space. @param path after the path of the space */
export async function ask<Answer>(
  client: Client,
  space: Space,
  path: string,
  call: Partial<Call>,
): Promise<Answer> {
  const sent = {
    ...{ method: 'POST', repeatable: true },
    ...call,
    path: pathOf(client, space.slug) + path,
    // what the typed space leaves out, such as defaults, stays as it is stored
    headers: { mutate: 'false', ...call.headers, structure: structureHeader(client, space) },
  };
  return send(client, sent, json<Answer>);
}
