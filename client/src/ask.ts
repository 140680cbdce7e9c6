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
    (unit) => `\\u${(unit.charCodeAt(0) + 65536).toString(16).slice(1)}`,
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

/** How values of JSON become those of some of their keys. */
export type Readers = readonly (readonly [name: string, read: (text: string) => unknown])[];

export function readersOf({ fields }: Space): Readers {
  return Object.entries(fields).flatMap(([name, { read }]) => (read ? [[name, read] as const] : []));
}

/** The replacer for bodies about a space: JSON has no bigint. Only where one may be, as it takes time. */
export function replacerOf(space: Space): Call['replacer'] {
  return readersOf(space)[0] && ((_, value) => (typeof value === 'bigint' ? `${value}` : value));
}

/** Makes values of the strings of an answer, in place: a record, or a list of them. */
export function revived<Answer>(readers: Readers, answer: Answer): Answer {
  if (!readers[0]) return answer;
  for (const record of [answer].flat() as (Record<string, unknown> | null)[])
    for (const [name, read] of readers) {
      const value = record?.[name];
      if (typeof value === 'string') (record as Record<string, unknown>)[name] = read(value);
    }
  return answer;
}

/** Sends a request whose answer is a record of a space, a list of them, or null. */
export async function askRecords<Answer>(
  client: Client,
  space: Space,
  path: string,
  call: Partial<Call>,
): Promise<Answer> {
  return revived(readersOf(space), await ask<Answer>(client, space, path, call));
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
    replacer: replacerOf(space),
    ...call,
    path: pathOf(client, space.slug) + path,
    // what the typed space leaves out, such as defaults, stays as it is stored
    headers: { mutate: 'false', ...call.headers, structure: structureHeader(client, space) },
  };
  return send(client, sent, json<Answer>);
}
