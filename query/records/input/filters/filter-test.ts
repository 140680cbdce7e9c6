import type { Target } from '../../structure/field.ts';
import { canonicalJson } from '../../types/canonical-json.ts';
import type { Comparable } from '../../types/field-type.ts';
import { typeEntry } from '../../types/field-types.ts';
import { isObject } from '../../types/is-object.ts';
import type { Comparison, Filter } from './filter.ts';
import { operatorOf } from './operators.ts';

/** The values of a comparison as they are compared in memory. Elements and values at paths are JSON texts. */
export function comparableValues({ target, path, operator, values }: Comparison): readonly Comparable[] {
  const isValue = path.length === 0 && /^values?$/.test(operatorOf(operator).operand);
  return values.map((value) => {
    if (value instanceof Date) return value.getTime();
    return isValue && typeof target !== 'string' ? typeEntry(target.type).comparable(String(value)) : value;
  });
}

/** A value from its stored text. */
export function valueOfText(target: Target, text: string): Comparable {
  if (target === 'id') return text;
  if (typeof target === 'string') return Date.parse(text);
  return typeEntry(target.type).comparable(text);
}

/** Reads a record's value; undefined: none. */
export type ReadValue<Row> = (target: Target) => (row: Row) => Comparable | undefined;

/** Whether a record meets a filter. */
export function filterTest<Row>(filter: Filter, read: ReadValue<Row>): (row: Row) => boolean {
  if ('group' in filter) {
    const tests = filter.branches.map((branch) => filterTest(branch, read));
    switch (filter.group) {
      case 'all':
        return (row) => tests.every((test) => test(row));
      case 'any':
        return (row) => tests.some((test) => test(row));
      case 'none':
        return (row) => !tests.some((test) => test(row));
    }
  }
  const { target, path, operator } = filter;
  const values = comparableValues(filter);
  const isMet = operatorOf(operator).test(values);
  const value = read(target);
  const isMissing = operator === 'exists' && values[0] === false;
  return (row) => {
    const whole = value(row);
    const found = whole === undefined || path.length === 0 ? whole : valueAt(String(whole), path);
    return found === undefined ? isMissing : isMet(found);
  };
}

/** JSON text of the value at a path of an object; undefined: missing, or null. */
export function valueAt(text: string, path: readonly string[]): string | undefined {
  let value: unknown = JSON.parse(text);
  for (const key of path) {
    if (!isObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value === null ? undefined : canonicalJson(value);
}
