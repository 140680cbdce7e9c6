import { type Field, systemKeys } from '../projects/structure.ts';
import { readText } from './record-form.ts';

export interface Sort {
  readonly by: string;
  readonly order: 'asc' | 'desc';
}

/** What of a space is on the screen. It stands in the address, so that it can be sent to somebody, and Back undoes it. */
export interface RecordView {
  /** Texts of conditions by the name of their field, in the order of the address. */
  readonly filters: ReadonlyMap<string, string>;
  readonly match: 'all' | 'any';
  /** Looked for in all TEXT fields, among the records that match the filters. */
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

/** The filters that the API would refuse, by name. */
export function filterProblems(view: RecordView, fields: readonly Field[]): ReadonlyMap<string, string> {
  const problems = new Map<string, string>();
  for (const [name, text] of view.filters) {
    const field = fields.find((field) => field.name === name);
    if (field === undefined) {
      if (!(systemKeys as readonly string[]).includes(name))
        problems.set(name, 'There is no such field any more.');
      continue;
    }
    // the words are the same as under a field of the form
    const reading = readText(field.type, text);
    if ('problem' in reading) problems.set(name, reading.problem);
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
  /** Its number from 1, where the record before it is not known. */
  readonly page?: number;
}

/** The order that a request asks for; the newest records come first unless the reader sorts. */
export function effectiveSort({ sort }: RecordView): Sort {
  return sort ?? { by: 'id', order: 'desc' };
}

/** The options header of find and search. */
export function viewOptions(view: RecordView, page: Partial<PageRequest>): object {
  const { limit, after = null, page: number } = page;
  return {
    ...(view.match === 'any' ? { paramRelationship: 'Or' } : {}),
    sort: effectiveSort(view),
    pagination: { limit, ...(after === null ? {} : { after }), ...(number ? { page: number } : {}) },
  };
}

/** Path below the space, and query, of find or search. */
export function viewPath(view: RecordView, fields: readonly Field[]): string {
  const query = new URLSearchParams();
  if (view.search !== '') {
    query.set('searchText', view.search);
    for (const { name } of searchedFields(fields)) query.append('searchableFields[]', name);
  }
  for (const [name, text] of view.filters) query.append(name, text);
  return `${view.search === '' ? '' : '/search'}${query.size === 0 ? '' : `?${query}`}`;
}

/** Whether it shows all records of the space. */
export function isBare({ filters, search }: RecordView): boolean {
  return filters.size === 0 && search === '';
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
