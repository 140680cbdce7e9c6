import { invalidOptions } from '#kernel/errors/catalogue.ts';
import { parseExactly, RoundedNumber } from '#kernel/json/rounded-number.ts';
import type { RecordParts } from '../structure/record-parts.ts';
import type { Structure } from '../structure/structure.ts';
import { isObject } from '../types/is-object.ts';
import { type GivenOptions, noControls, withControls } from './controls.ts';
import type { Complain } from './given-fields.ts';
import { type PageStart, parseAfter } from './parse-after.ts';
import { parseSelect } from './parse-select.ts';
import { parseSorts, type Sorts } from './parse-sorts.ts';

export interface Page extends PageStart {
  readonly limit: number;
}

/** The `options` header. `token` and `populate` are read before there is a structure (`unparsedOptions`). */
export interface Options {
  readonly paramRelationship: 'And' | 'Or';
  /** Null: all records. */
  readonly page: Page | null;
  /** Whether the header, and not a control, says where the page begins. */
  readonly pageInHeader: boolean;
  /** Null: in order of insertion. */
  readonly sort: Sorts | null;
  /** Null: records have all their fields. */
  readonly select: RecordParts | null;
  /** Whether the answer says how many records match. */
  readonly count: boolean;
}

export const noOptions: Options = {
  paramRelationship: 'And',
  page: null,
  pageInHeader: false,
  sort: null,
  select: null,
  count: false,
};

/**
 * Reads the header against the structure that names the fields to sort by. Throws a 400 that lists every problem.
 * @param controls of the query or the body, which may set some options as well
 */
export function parseOptions(
  header: string | undefined,
  structure: Structure,
  controls = noControls,
): Options {
  if (!header && controls.size === 0) return noOptions;
  let parsed: unknown;
  try {
    parsed = parseExactly(header || '{}');
  } catch (cause) {
    const problem = cause instanceof RoundedNumber ? `: ${cause.message}` : ' is not valid JSON';
    throw invalidOptions([`The options header${problem}`], cause);
  }
  if (!isObject(parsed)) throw invalidOptions(['The options header is not a JSON object']);
  const problems: string[] = [];
  const complain: Complain = (problem) => void problems.push(`Options: ${problem}`);
  const { input, labels } = withControls(parsed, controls, structure, complain);
  const ofSort: string[] = [];
  const complainOfSort: Complain = (problem) => void ofSort.push(`Options: ${problem}`);
  const sort = parseSorts(input.sort, structure, complainOfSort, labels.sort);
  const options: Options = {
    paramRelationship: readRelationship(input.paramRelationship, complain),
    page: readPage(input.pagination, { sort, labels, complain }),
    pageInHeader: beginsPage(parsed.pagination),
    sort,
    select: parseSelect(input.select, structure, complain, labels.select),
    count: readCount(controls.get('$count')?.[0], complain),
  };
  problems.push(...ofSort);
  if (problems.length > 0) throw invalidOptions(problems);
  return options;
}

function readCount(value: unknown, complain: Complain): boolean {
  if (value === undefined || value === 'exact') return value !== undefined;
  complain('$count should be exact');
  return false;
}

function readRelationship(value: unknown, complain: Complain): Options['paramRelationship'] {
  if (value === undefined || value === null) return 'And';
  if (value === 'And' || value === 'Or') return value;
  complain('paramRelationship should be And or Or');
  return 'And';
}

function readPage(
  value: unknown,
  {
    sort,
    labels,
    complain,
  }: Pick<Options, 'sort'> & Pick<GivenOptions, 'labels'> & { readonly complain: Complain },
): Options['page'] {
  if (value === undefined || value === null) return null;
  if (!isObject(value)) {
    complain('pagination should be an object with limit and page');
    return null;
  }
  // clients fill in their values, which may be empty
  if (value.limit === undefined && value.page === undefined && value.after === undefined) return null;
  const limit = positive(labels.limit, value.limit, complain);
  if (value.after !== undefined) {
    if (value.page !== undefined)
      complain(`${labels.page} and ${labels.after}: one of them says where the page begins`);
    const begin = parseAfter(value.after, sort, complain, labels.after);
    return limit === null || begin === null ? null : countable({ limit, ...begin }, complain);
  }
  const page = value.page === undefined ? 1 : positive(labels.page, value.page, complain);
  if (limit === null || page === null) return null;
  return countable({ limit, offset: (page - 1) * limit }, complain);
}

function beginsPage(pagination: unknown): boolean {
  return isObject(pagination) && (pagination.page !== undefined || pagination.after !== undefined);
}

function countable(page: Page, complain: Complain): Page | null {
  if (Number.isSafeInteger(page.offset + page.limit)) return page;
  complain('pagination goes beyond what can be counted');
  return null;
}

function positive(label: string, value: unknown, complain: Complain): number | null {
  // client forms send texts
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number === 'number' && Number.isSafeInteger(number) && number > 0) return number;
  complain(`${label} should be a whole number from 1`);
  return null;
}

/** Keys of the `options` header that do not depend on a structure. */
export interface UnparsedOptions {
  readonly token?: unknown;
  readonly populate?: unknown;
}

/** Reads them before there is a structure. `parseOptions` reports the problems of the header. */
export function unparsedOptions(header: string | undefined): UnparsedOptions {
  // most requests have neither key and need no parsing
  if (header === undefined || !/token|populate/.test(header)) return {};
  try {
    const input: unknown = JSON.parse(header);
    return typeof input === 'object' && input !== null ? input : {};
  } catch {
    return {};
  }
}
