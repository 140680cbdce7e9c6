import { invalidOptions } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import type { HttpRequest } from '../../common/http/http-types.ts';
import { isSystemKey, type Target } from '../structure/field.ts';
import { isObject } from '../structure/is-object.ts';
import type { Structure } from '../structure/structure.ts';
import { type After, parseAfter } from './parse-after.ts';

export interface Sort {
  readonly target: Target;
  readonly descending: boolean;
}

export interface Page {
  readonly limit: number;
  readonly offset: number;
  /** Absent: from the first record. With one the offset is 0. */
  readonly after?: After;
}

/** The `options` header. `token` and `populate` are read before there is a structure (`unparsedOptions`). */
export interface Options {
  readonly paramRelationship: 'And' | 'Or';
  /** Null: all records. */
  readonly page: Page | null;
  /** Null: in order of insertion. */
  readonly sort: Sort | null;
}

type Complain = (problem: string) => void;

const defaults: Options = { paramRelationship: 'And', page: null, sort: null };

/** Reads the header against the structure that names the fields to sort by. Throws a 400 that lists every problem. */
export function parseOptions(header: string | undefined, structure: Structure): Options {
  if (header === undefined || header === '') return defaults;
  // requests for a space mostly have those of the one before
  const before = last.get(structure);
  if (before?.header === header) return before.options;
  const options = readOptions(header, structure);
  last.set(structure, { header, options });
  return options;
}

const last = new WeakMap<Structure, { readonly header: string; readonly options: Options }>();

function readOptions(header: string, structure: Structure): Options {
  let input: unknown;
  try {
    input = JSON.parse(header);
  } catch (cause) {
    throw invalidOptions(['The options header is not valid JSON'], cause);
  }
  if (!isObject(input)) throw invalidOptions(['The options header is not a JSON object']);
  const problems: string[] = [];
  const complain: Complain = (problem) => void problems.push(`Options: ${problem}`);
  const ofSort: string[] = [];
  const sort = readSort(input.sort, structure, (problem) => void ofSort.push(`Options: ${problem}`));
  const options: Options = {
    paramRelationship: readRelationship(input.paramRelationship, complain),
    page: readPage(input.pagination, sort, complain),
    sort,
  };
  problems.push(...ofSort);
  if (problems.length > 0) throw invalidOptions(problems);
  return options;
}

function readRelationship(value: unknown, complain: Complain): Options['paramRelationship'] {
  if (value === undefined || value === null) return 'And';
  if (value === 'And' || value === 'Or') return value;
  complain('paramRelationship should be And or Or');
  return 'And';
}

function readPage(value: unknown, sort: Sort | null, complain: Complain): Options['page'] {
  if (value === undefined || value === null) return null;
  if (!isObject(value)) {
    complain('pagination should be an object with limit and page');
    return null;
  }
  // clients fill in what they have, which may be nothing
  if (value.limit === undefined && value.page === undefined && value.after === undefined) return null;
  const limit = positive('limit', value.limit, complain);
  if (value.after !== undefined) {
    if (value.page !== undefined)
      complain('pagination has page and after: one of them says where the page begins');
    const after = parseAfter(value.after, sort?.target ?? null, complain);
    return limit === null || after === null ? null : { limit, offset: 0, after };
  }
  const page = value.page === undefined ? 1 : positive('page', value.page, complain);
  if (limit === null || page === null) return null;
  const offset = (page - 1) * limit;
  if (!Number.isSafeInteger(offset + limit)) {
    complain('pagination goes beyond what can be counted');
    return null;
  }
  return { limit, offset };
}

function positive(key: string, value: unknown, complain: Complain): number | null {
  // forms of clients give texts
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isSafeInteger(number) && number > 0) return number;
  complain(`pagination.${key} should be a whole number from 1`);
  return null;
}

function readSort(value: unknown, structure: Structure, complain: Complain): Sort | null {
  if (value === undefined || value === null) return null;
  if (!isObject(value)) {
    complain('sort should be an object with by and order');
    return null;
  }
  const { by, order } = value;
  if (order !== undefined && order !== 'asc' && order !== 'desc')
    complain('sort.order should be asc or desc');
  const descending = order === 'desc';
  // an order without a field to order by orders nothing
  if (by === undefined || by === null || by === '') return null;
  if (typeof by !== 'string') {
    complain('sort.by should be the name of a field, id, createdAt or updatedAt');
    return null;
  }
  if (isSystemKey(by)) return { target: by, descending };
  const field = structure.lookup.get(by);
  if (field === undefined) {
    complain(`sort.by names ${shownName(by)}, which is not a field of the structure`);
    return null;
  }
  if (field.hashed) {
    complain(`sort.by names ${shownName(by)}, which is hashed`);
    return null;
  }
  return { target: field, descending };
}

/** Keys of the `options` header that do not depend on a structure. */
export interface UnparsedOptions {
  readonly token?: unknown;
  readonly populate?: unknown;
}

/** Reads them before there is a structure. What is wrong with the header is for `parseOptions` to say. */
export function unparsedOptions(request: Pick<HttpRequest, 'header'>): UnparsedOptions {
  const header = request.header('options');
  // most requests have neither key, and are spared the parsing
  if (header === undefined || !/token|populate/.test(header)) return {};
  try {
    const input: unknown = JSON.parse(header);
    return typeof input === 'object' && input !== null ? input : {};
  } catch {
    return {};
  }
}
