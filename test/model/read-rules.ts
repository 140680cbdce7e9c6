import { type Refusal, Refused, refusal } from './expected.ts';
import { isObject, type ModelField, type ModelValue, parsedJson, readText } from './model-field.ts';
import type { ModelRecord } from './model-space.ts';
import { fieldOf, type ModelStructure } from './model-structure.ts';

export type Pairs = readonly (readonly [string, string])[];
type Sort = (records: readonly ModelRecord[]) => ModelRecord[];

export interface ModelOptions {
  readonly either: boolean;
  readonly page: { readonly limit: number; readonly page: number } | null;
  readonly sort: Sort | null;
}

/** Conditions as predicates. */
export interface ModelConditions {
  readonly plain: readonly ((record: ModelRecord) => boolean)[];
  readonly hashed: readonly { readonly field: ModelField; readonly value: ModelValue }[];
}

const ours = ['id', 'createdAt', 'updatedAt'] as const;
type Ours = (typeof ours)[number];
const isOurs = (word: string): word is Ours => ours.includes(word as Ours);

export function readOptions(
  header: string | undefined,
  view: ModelStructure,
  wrong: Refusal[],
): ModelOptions {
  const none = { either: false, page: null, sort: null };
  if (header === undefined) return none;
  const raw = parsedJson(header);
  const before = wrong.length;
  const complain = (): void => void wrong.push(refusal('invalid_options'));
  if (!isObject(raw)) {
    complain();
    return none;
  }
  const { paramRelationship: relationship = 'And' } = raw;
  const given = raw.pagination ?? null;
  const empty = isObject(given) && given.limit === undefined && given.page === undefined;
  const pagination = empty ? null : given;
  const sort = raw.sort ?? null;
  if (relationship !== 'And' && relationship !== 'Or') complain();
  const { limit, page = 1 } = isObject(pagination) ? pagination : {};
  if (pagination !== null && ![limit, page].every((count) => Number.isInteger(count) && Number(count) > 0))
    complain();
  const { by, order = 'asc' } = isObject(sort) ? sort : {};
  const compare = typeof by === 'string' ? sortBy(by, order === 'desc', view) : null;
  const unsorted = isObject(sort) && (by === undefined || by === null || by === '');
  if (sort !== null && ((compare === null && !unsorted) || (order !== 'asc' && order !== 'desc'))) complain();
  if (wrong.length > before) return none;
  return {
    either: relationship === 'Or',
    page: pagination === null ? null : { limit: Number(limit), page: Number(page) },
    sort: sort === null || unsorted ? null : compare,
  };
}

/**
 * Null for what can not be sorted by. Records with equal values stay in the order of insertion; the newest first is
 * the other way round altogether.
 */
function sortBy(by: string, descending: boolean, view: ModelStructure): Sort | null {
  if (isOurs(by)) {
    const ascending: Sort = (records) => records.toSorted((a, b) => order(a[by], b[by]));
    return descending ? (records) => ascending(records).reverse() : ascending;
  }
  const field = fieldOf(view, by);
  if (field === undefined || field.hashed) return null;
  const value = ({ values }: ModelRecord): ModelValue | null => values.get(field.slug) ?? null;
  return (records) =>
    records.toSorted((a, b) => {
      const [one, other] = [value(a), value(b)];
      // what has no value comes last either way
      if (one === null || other === null) return Number(one === null) - Number(other === null);
      return descending ? order(other, one) : order(one, other);
    });
}

function order(a: ModelValue | null, b: ModelValue | null): number {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(String(b)));
  return Number(a) - Number(b);
}

export function readConditions(
  pairs: Pairs,
  view: ModelStructure,
  either: boolean,
  wrong: Refusal[],
): ModelConditions {
  const problems: string[] = [];
  const plain: ((record: ModelRecord) => boolean)[] = [];
  const hashed: { field: ModelField; value: ModelValue }[] = [];
  for (const [key, text] of pairs) {
    const field = fieldOf(view, key);
    if (field === undefined && isOurs(key)) {
      const value = key === 'id' ? readText('TEXT', text) : readTime(text);
      if (value === null) problems.push(`'${key}'`);
      else plain.push((record) => record[key] === value);
      continue;
    }
    const value = field === undefined ? null : readText(field.type, text);
    if (field === undefined || value === null) problems.push(`'${field?.name ?? key}'`);
    else if (field.hashed) hashed.push({ field, value });
    else plain.push(({ values }) => values.get(field.slug) === value);
  }
  const [first] = hashed;
  // beside another problem it may be left unsaid
  const hashedIsWrong = first !== undefined && (either || plain.length === 0 || hashed.length > 5);
  if (problems.length > 0) wrong.push(refusal('invalid_condition', problems));
  else if (hashedIsWrong)
    wrong.push(refusal('invalid_condition', hashed.length > 5 ? [] : [`'${first.field.name}'`]));
  return { plain, hashed };
}

/** A time as answers show it, with up to three digits of a second's parts; null for what is none. */
function readTime(text: string): string | null {
  const [, seconds, parts = ''] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,3}))?Z$/.exec(text) ?? [];
  if (seconds === undefined) return null;
  const time = `${seconds}.${parts.padEnd(3, '0')}Z`;
  const date = new Date(time);
  // February 30th is no day
  return !Number.isNaN(date.getTime()) && date.toISOString() === time ? time : null;
}

/** The records that conditions select, in the order and on the page of the options. */
export function select(
  records: readonly ModelRecord[],
  { plain, hashed }: ModelConditions,
  { either, page, sort }: ModelOptions,
): ModelRecord[] {
  let found = records.filter((record) =>
    either && plain.length > 0 ? plain.some((holds) => holds(record)) : plain.every((holds) => holds(record)),
  );
  const [first] = hashed;
  if (first !== undefined) {
    if (found.length > 10) throw new Refused([refusal('invalid_condition', [`'${first.field.name}'`])]);
    found = found.filter(({ values }) =>
      hashed.every(({ field, value }) => values.get(field.slug) === value),
    );
  }
  return paged(sort === null ? found : sort(found), page);
}

export function paged(records: ModelRecord[], page: ModelOptions['page']): ModelRecord[] {
  return page === null ? records : records.slice((page.page - 1) * page.limit, page.page * page.limit);
}

/** The predicate of a search. */
export function readSearch(
  pairs: Pairs,
  view: ModelStructure,
  wrong: Refusal[],
): (record: ModelRecord) => boolean {
  const problems: string[] = [];
  const texts = pairs.filter(([key]) => key === 'searchText').map(([, text]) => text);
  const named = pairs.filter(([key]) => key === 'searchableFields[]' || key === 'searchableFields');
  const fields = named.map(([, word]) => {
    const field = fieldOf(view, word);
    if (field === undefined || field.hashed || field.type !== 'TEXT') problems.push(`'${word}'`);
    return field;
  });
  for (const [key] of pairs) if (!/^search(Text|ableFields(\[\])?)$/.test(key)) problems.push(`'${key}'`);
  const [text = ''] = texts;
  if (texts.length !== 1 || text.length > 1000 || !text.isWellFormed()) problems.push('searchText');
  if (named.length === 0) problems.push('searchableFields');
  if (problems.length > 0) wrong.push(refusal('invalid_condition', problems));
  // equal as JavaScript's regular expressions compare with the flags i and u
  const contained = new RegExp(
    text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'),
    text.isWellFormed() ? 'iu' : 'i',
  );
  return ({ values }) =>
    fields.some((field) => {
      const value = field === undefined ? undefined : values.get(field.slug);
      return typeof value === 'string' && contained.test(value);
    });
}
