import { Problem } from '../problem.ts';
import type { Field } from '../projects/structure.ts';
import { typeCan } from './field-types.ts';
import { type FilterOperator, operatorWords } from './filter-operators.ts';
import {
  type Condition,
  type Filter,
  isActive,
  type ParsedFilter,
  readFilter,
  type Where,
} from './filters.ts';
import { columnOf } from './grid-columns.ts';
import type { StoredRecord } from './record-form.ts';

export interface Sort {
  readonly by: string;
  readonly order: 'asc' | 'desc';
}

/** The view of a space. It is part of the URL, so that it can be shared, and the back button undoes changes. */
export interface RecordView {
  /** By field name, in the order of the URL. */
  readonly filters: ReadonlyMap<string, Filter>;
  readonly match: 'all' | 'any';
  /** Text to search for in all TEXT fields of records that match the filters. */
  readonly search: string;
  /** Later sorts apply to records that are equal in earlier ones. Empty: newest first. */
  readonly sorts: readonly Sort[];
}

export const emptyView: RecordView = { filters: new Map(), match: 'all', search: '', sorts: [] };

/** `where.age` compares age for equality; `where-gte.age` has another operator. */
const filterKey = /^where(?:-(\w+))?\.(.*)$/s;

/** Ignores anything unknown, because people edit URLs. */
export function viewOfQuery(query: URLSearchParams): RecordView {
  const filters = new Map<string, Filter>();
  for (const [key, text] of query) {
    const [, operator = 'eq', name] = filterKey.exec(key) ?? [];
    if (name === undefined || !Object.hasOwn(operatorWords, operator)) continue;
    filters.set(name, { operator: operator as FilterOperator, text });
  }
  const orders = query.getAll('order');
  const sorts = query.getAll('sort').map((by, index): Sort => {
    return { by, order: orders[index] === 'desc' ? 'desc' : 'asc' };
  });
  return {
    filters,
    match: query.get('match') === 'any' ? 'any' : 'all',
    search: query.get('search') ?? '',
    sorts: sorts.filter(({ by }, at) => by !== '' && sorts.findIndex((sort) => sort.by === by) === at),
  };
}

export function queryOfView({ filters, match, search, sorts }: RecordView): string {
  const query = new URLSearchParams();
  if (search !== '') query.set('search', search);
  for (const [name, { operator, text }] of filters)
    query.append(`where${operator === 'eq' ? '' : `-${operator}`}.${name}`, text);
  if (match === 'any') query.set('match', 'any');
  const rises = sorts.every(({ order }) => order === 'asc');
  for (const { by, order } of sorts) {
    query.append('sort', by);
    if (!rises) query.append('order', order);
  }
  return query.toString();
}

/**
 * Ascending, descending, and back to the order of the page.
 * @param adds after the other sorts
 */
export function nextSorts(sorts: readonly Sort[], by: string, adds: boolean): readonly Sort[] {
  const last = sorts.find((sort) => sort.by === by);
  const next: readonly Sort[] =
    last === undefined ? [{ by, order: 'asc' }] : last.order === 'asc' ? [{ by, order: 'desc' }] : [];
  if (!adds) return next;
  return last === undefined ? [...sorts, ...next] : sorts.flatMap((sort) => (sort === last ? next : sort));
}

function* readings(
  { filters }: RecordView,
  fields: readonly Field[],
): Generator<readonly [name: string, reading: ParsedFilter]> {
  for (const [name, filter] of filters) {
    const column = columnOf(name, fields);
    if (column === undefined) yield [name, { problem: 'This field no longer exists.' }];
    else if (isActive(filter)) yield [name, readFilter(name, column, filter)];
  }
}

/** Problems of invalid filters, by name. */
export function filterProblems(view: RecordView, fields: readonly Field[]): ReadonlyMap<string, string> {
  const problems = new Map<string, string>();
  for (const [name, reading] of readings(view, fields))
    if ('problem' in reading) problems.set(name, reading.problem);
  return problems;
}

/** The conditions of find. Throws a Problem for an invalid filter: leaving it out would show other records. */
export function whereOf(view: RecordView, fields: readonly Field[]): Where {
  const filters: Where[] = [];
  for (const [name, reading] of readings(view, fields)) {
    if ('problem' in reading) throw new Problem(`${name}: ${reading.problem}`);
    filters.push(reading.where);
  }
  const where: Condition[] = view.match === 'any' && filters.length > 1 ? [['$or', filters]] : filters.flat();
  if (view.search === '') return where;
  const searched = searchedFields(fields).map(({ name }): Where => [[name, 'icontains', view.search]]);
  return [...where, ['$or', searched]];
}

/** A request may have 100 conditions; some are left for filters. */
const maxSearched = 60;

export function searchedFields(fields: readonly Field[]): readonly Field[] {
  return fields.filter(({ type, hashed }) => typeCan(type, 'text') && !hashed).slice(0, maxSearched);
}

/** The record after which the next page begins. */
export interface Cursor {
  readonly id: string;
  readonly value?: unknown;
  /** With several sorts. */
  readonly values?: readonly unknown[];
}

export function cursorOf(record: StoredRecord, sortBy: readonly string[]): Cursor {
  const id = String(record.id);
  const values = sortBy.map((name) => (name === 'id' ? null : (record[name] ?? null)));
  if (values.length > 1) return { id, values };
  return sortBy[0] === 'id' ? { id } : { id, value: values[0] };
}

export interface PageRequest {
  readonly limit: number;
  readonly after: Cursor | null;
  /** Page number from 1, if the record before it is unknown. */
  readonly page?: number;
}

/** The sorts of a request; newest first by default. */
function effectiveSorts({ sorts }: RecordView): readonly Sort[] {
  return sorts.length === 0 ? [{ by: 'id', order: 'desc' }] : sorts;
}

export function sortedBy(view: RecordView): readonly string[] {
  return effectiveSorts(view).map(({ by }) => by);
}

/** The options header of find. */
export function viewOptions(view: RecordView, page: Partial<PageRequest>): object {
  const { limit, after = null, page: number } = page;
  const sorts = effectiveSorts(view);
  return {
    sort: sorts.length === 1 ? sorts[0] : sorts,
    pagination: { limit, ...(after === null ? {} : { after }), ...(number ? { page: number } : {}) },
  };
}

/** Whether it shows all records of the space. */
export function isBare({ filters, search }: RecordView): boolean {
  return search === '' && ![...filters.values()].some(isActive);
}

/** JSON for a header, which can't have characters beyond Latin-1. */
export function headerJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
