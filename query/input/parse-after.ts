import type { StoredValue, Target } from '../structure/field.ts';
import { hasLoneSurrogate, readFieldValue } from '../structure/field-value.ts';
import { isObject } from '../structure/is-object.ts';
import { parseTime } from './parse-time.ts';

/** The last record of the page before: those behind it follow. */
export interface After {
  readonly id: string;
  /** Its value of what is sorted by; null: it has none, or records are sorted by their ids. */
  readonly value: StoredValue | Date | null;
}

const longestId = 200;

/**
 * Reads `pagination.after`. Null: something is wrong with it, which `complain` heard.
 * @param target what records are sorted by; null: nothing
 */
export function parseAfter(
  input: unknown,
  target: Target | null,
  complain: (problem: string) => void,
): After | null {
  const refuse = (problem: string): null => {
    complain(`pagination.after${problem}`);
    return null;
  };
  if (!isObject(input)) return refuse(' should be an object with id and, with a sort, value');
  const { id, value = null } = input;
  if (typeof id !== 'string' || id === '' || id.length > longestId || hasLoneSurrogate(id)) {
    return refuse('.id should be the id of a record');
  }
  if (target === null || target === 'id') {
    return value === null || value === id
      ? { id, value: null }
      : refuse('.value is for records that are sorted by a field: there is no sort.by');
  }
  if (typeof target === 'string') {
    const time = typeof value === 'string' ? parseTime(value) : null;
    return time === null ? refuse(`.value should be the ${target} of the record`) : { id, value: time };
  }
  if (value === null) return { id, value };
  const reading = readFieldValue(target.type, value);
  return 'problem' in reading ? refuse(`.value ${reading.problem}`) : { id, value: reading.value };
}
