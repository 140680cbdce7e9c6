import type { Target } from '../structure/field.ts';
import type { StoredValue } from '../types/field-type.ts';
import { readFieldValue } from '../types/field-types.ts';
import { isObject } from '../types/is-object.ts';
import { hasLoneSurrogate } from '../types/text.ts';
import type { Complain } from './given-fields.ts';
import type { Sorts } from './parse-sorts.ts';
import { parseTime } from './parse-time.ts';

/** The last record of the previous page: the page begins after it. */
export interface PageCursor {
  readonly id: string;
  /** Its values of the sorted fields, one for each sort; null: no value, or a sort by id. */
  readonly values: readonly (StoredValue | Date | null)[];
}

/** Where a page begins. */
export interface PageStart {
  /** Records to skip, after `after` or from the beginning. */
  readonly offset: number;
  readonly after?: PageCursor;
  /** `after` as it was sent. */
  readonly given?: Readonly<Record<string, unknown>>;
}

const longestId = 200;
/** Problem of a time that no record can have. */
const isFiner = /\.\d{3}\d*[1-9]/;

/**
 * Reads `pagination.after`: `{id, value}`, or with several sorts `{id, values}`, and with `skip` some records further; or
 * `{skip}` alone. Null: something is wrong with it, which
 * `complain` heard. @param label its name in problems
 */
export function parseAfter(
  input: unknown,
  sort: Sorts | null,
  complain: Complain,
  label: string,
): PageStart | null {
  const refuse = (problem: string): null => {
    complain(`${label}${problem}`);
    return null;
  };
  if (!isObject(input)) return refuse(' should be an object with id and, with a sort, value');
  const { id, value = null } = input;
  const values = input.values ?? undefined;
  const offset = input.skip ?? 0;
  if (typeof offset !== 'number' || !Number.isSafeInteger(offset) || offset < 0)
    return refuse('.skip should be a whole number');
  const isAlone = id === undefined && value === null && values === undefined;
  if (isAlone && typeof input.skip === 'number') return { offset, given: {} };
  if (typeof id !== 'string' || id === '' || id.length > longestId || hasLoneSurrogate(id)) {
    return refuse('.id should be the id of a record');
  }
  if (sort === null) {
    return (value === null || value === id) && values === undefined
      ? { offset, after: { id, values: [] }, given: input }
      : refuse('.value is for records that are sorted by a field: there is no sort.by');
  }
  const given = values ?? [value];
  if (values !== undefined && value !== null) return refuse(' has value and values: send one of them');
  if (!Array.isArray(given) || given.length !== sort.length)
    return refuse(`.values should be an array of ${sort.length}: a value for each of what is sorted by`);
  const read: (StoredValue | Date | null)[] = [];
  for (const [index, { target }] of sort.entries()) {
    const reading = readValue(target, given[index], id);
    if ('problem' in reading)
      return refuse(`.${values === undefined ? 'value' : `values[${index}]`} ${reading.problem}`);
    read.push(reading.value);
  }
  return { offset, after: { id, values: read }, given: input };
}

type ValueResult = { readonly value: StoredValue | Date | null } | { readonly problem: string };

function readValue(target: Target, value: unknown, id: string): ValueResult {
  if (target === 'id') {
    return value === null || value === id
      ? { value: null }
      : { problem: 'should be the id of the record, or null' };
  }
  if (typeof target === 'string') {
    const time = typeof value === 'string' && !isFiner.test(value) ? parseTime(value) : null;
    return time === null ? { problem: `should be the ${target} of the record` } : { value: time };
  }
  return value === null ? { value } : readFieldValue(target, value);
}
