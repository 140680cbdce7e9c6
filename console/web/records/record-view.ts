import { type Field, systemKeys } from '../projects/structure.ts';

export interface Sort {
  readonly by: string;
  readonly order: 'asc' | 'desc';
}

/** What of a space is on the screen. It stands in the address, so that it can be sent to somebody, and Back undoes it. */
export interface RecordView {
  /** Texts of conditions by the name of their field, in the order of the address. */
  readonly filters: ReadonlyMap<string, string>;
  readonly match: 'all' | 'any';
  /** Looked for in all TEXT fields. The API has no conditions beside it. */
  readonly search: string;
  /** Null: newest first. */
  readonly sort: Sort | null;
}

export const emptyView: RecordView = { filters: new Map(), match: 'all', search: '', sort: null };

const filterKey = 'where.';

/** What it does not understand, it passes over: addresses are typed by people. */
export function viewOfQuery(query: URLSearchParams): RecordView {
  const filters = new Map<string, string>();
  for (const [key, value] of query) {
    if (key.startsWith(filterKey)) filters.set(key.slice(filterKey.length), value);
  }
  const by = query.get('sort');
  return {
    filters,
    match: query.get('match') === 'any' ? 'any' : 'all',
    search: query.get('search') ?? '',
    sort: by === null || by === '' ? null : { by, order: query.get('order') === 'desc' ? 'desc' : 'asc' },
  };
}

export function queryOfView({ filters, match, search, sort }: RecordView): string {
  const query = new URLSearchParams();
  if (search !== '') query.set('search', search);
  for (const [name, text] of filters) query.append(`${filterKey}${name}`, text);
  if (match === 'any') query.set('match', 'any');
  if (sort !== null) {
    query.set('sort', sort.by);
    if (sort.order === 'desc') query.set('order', 'desc');
  }
  return query.toString();
}

/** Ascending, descending, and back to the order of the page. */
export function nextSort(sort: Sort | null, by: string): Sort | null {
  if (sort?.by !== by) return { by, order: 'asc' };
  return sort.order === 'asc' ? { by, order: 'desc' } : null;
}

export function canFilter(field: Field): boolean {
  // a hash can only be compared when other conditions left a few records
  return !field.hashed;
}

/** What is wrong with the text of a condition, or null. The words are the same as under a field of the form. */
export function filterProblem(type: Field['type'] | 'ID', text: string): string | null {
  switch (type) {
    case 'NUMBER':
      return text.trim() !== '' && Number.isFinite(Number(text))
        ? null
        : 'Write a number, such as 36 or 1.5.';
    case 'BOOLEAN':
      return text === 'true' || text === 'false' ? null : 'Choose true or false.';
    case 'ARRAY':
    case 'OBJECT':
      return isJson(text, type)
        ? null
        : `Write JSON, such as ${type === 'ARRAY' ? '["a"]' : '{"city":"London"}'}.`;
    default:
      return null;
  }
}

function isJson(text: string, type: 'ARRAY' | 'OBJECT'): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && Array.isArray(value) === (type === 'ARRAY');
  } catch {
    return false;
  }
}

/** The filters that the API would refuse, by name. */
export function filterProblems(view: RecordView, fields: readonly Field[]): ReadonlyMap<string, string> {
  const problems = new Map<string, string>();
  for (const [name, text] of view.filters) {
    const field = fields.find((field) => field.name === name);
    const problem =
      field === undefined && !(systemKeys as readonly string[]).includes(name)
        ? 'There is no such field any more.'
        : filterProblem(field?.type ?? 'ID', text);
    if (problem !== null) problems.set(name, problem);
  }
  return problems;
}

/** The most that a request of search may name. */
const maxSearched = 100;

export function searchedFields(fields: readonly Field[]): readonly Field[] {
  return fields.filter(({ type, hashed }) => type === 'TEXT' && !hashed).slice(0, maxSearched);
}

/** The record of a page after which the next one begins. */
export interface Cursor {
  readonly id: string;
  readonly value?: unknown;
}

export interface PageRequest {
  readonly limit: number;
  readonly after: Cursor | null;
}

/** The order that a request asks for; the newest records come first unless the reader sorts. */
export function effectiveSort({ sort }: RecordView): Sort {
  return sort ?? { by: 'id', order: 'desc' };
}

/** The options header of find and search. */
export function viewOptions(view: RecordView, page: PageRequest | { readonly limit: number }): object {
  const after = 'after' in page && page.after !== null ? { after: page.after } : {};
  return {
    ...(view.search === '' && view.match === 'any' ? { paramRelationship: 'Or' } : {}),
    sort: effectiveSort(view),
    pagination: { limit: page.limit, ...after },
  };
}

/** Path below the space, and query, of find or search. */
export function viewPath(view: RecordView, fields: readonly Field[]): string {
  const query = new URLSearchParams();
  if (view.search !== '') {
    query.set('searchText', view.search);
    for (const { name } of searchedFields(fields)) query.append('searchableFields[]', name);
    return `/search?${query}`;
  }
  for (const [name, text] of view.filters) query.append(name, text);
  return view.filters.size === 0 ? '' : `?${query}`;
}

/** JSON for a header, which holds no characters beyond Latin-1. */
export function headerJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** `/{project}/{space}` of the API. A space has any name. */
export function spacePath(project: string, space: string): string {
  return `/${encodeURIComponent(project)}/${encodeURIComponent(space)}`;
}
