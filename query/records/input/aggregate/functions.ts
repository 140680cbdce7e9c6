import type { Ability, ValueKind } from '../../types/field-type.ts';
import { isFor } from '../filters/operators.ts';

/** Functions of a group's records. */
export interface AggregateFunction {
  /** What values need to be able to; absent: it takes any value. */
  readonly needs?: Ability;
  /** Whether its result is a number, or of the type of its field. */
  readonly result: 'number' | 'value';
  /** NULL where no record has a value. @param level of a quantile */
  readonly sql: (column: string, level: number) => string;
}

/** An infinite sum counts as no value: JSON can't represent it, and conditions and orders see what the answer shows. */
const finite = (result: string): string => `if(isFinite(${result}), ${result}, NULL)`;

/** The functions of a field, in the order in which they are listed; `count` counts records. A new function is a new entry. */
export const functions: Readonly<Record<string, AggregateFunction>> = {
  sum: { needs: 'summed', result: 'number', sql: (column) => finite(`sum(${column})`) },
  avg: { needs: 'summed', result: 'number', sql: (column) => finite(`avg(${column})`) },
  min: { needs: 'ordered', result: 'value', sql: (column) => `min(${column})` },
  max: { needs: 'ordered', result: 'value', sql: (column) => `max(${column})` },
  distinct: { result: 'number', sql: (column) => `uniqExact(${column})` },
  // a value that a record has: of n in order the one at place level * n, counted from 0
  quantile: {
    needs: 'summed',
    result: 'number',
    sql: (column, level) => `quantileExact(${level})(${column})`,
  },
};

export function functionsFor(kind: ValueKind): readonly string[] {
  return Object.keys(functions).filter((name) => isFor(kind, functions[name] as AggregateFunction));
}
