import { mostPrecision } from '../../types/decimal.ts';
import type { Ability, ValueKind } from '../../types/field-type.ts';
import { type TypedField, typeEntry, typeOfExactResults, typeOfResults } from '../../types/field-types.ts';
import { isFor } from '../filters/operators.ts';

/** Functions of a group's records. */
export interface AggregateFunction {
  /** What values need to be able to; absent: it takes any value. */
  readonly needs?: Ability;
  /** The type of its results; null: that of its values, whatever they are. @param of a field whose type declares the values */
  readonly result: (of: TypedField) => TypedField | null;
  /** NULL where no record has a value. @param level of a quantile @param isExact whether all digits count */
  readonly sql: (column: string, level: number, isExact: boolean) => string;
}

const number: TypedField = { type: typeOfResults };

/** An infinite sum counts as no value: JSON can't represent it, and conditions and orders see what the answer shows. */
const finite = (result: string): string => `if(isFinite(${result}), ${result}, NULL)`;

/** Digits of the average of exact numbers behind those that the numbers have. */
const moreDigits = 6;

/** The functions of a field, in the order in which they are listed; `count` counts records. A new function is a new entry. */
export const functions: Readonly<Record<string, AggregateFunction>> = {
  sum: {
    needs: 'summed',
    // it may have more digits than its field
    result: (of) =>
      typeEntry(of.type).isExact
        ? { type: typeOfExactResults, precision: mostPrecision, scale: of.scale ?? 0 }
        : number,
    sql: (column, _, isExact) => (isExact ? exactSum(column) : finite(`sum(${column})`)),
  },
  avg: {
    needs: 'summed',
    result: (of) =>
      typeEntry(of.type).isExact
        ? { type: typeOfExactResults, precision: mostPrecision, scale: (of.scale ?? 0) + moreDigits }
        : number,
    sql: (column, _, isExact) => (isExact ? exactAverage(column) : finite(`avg(${column})`)),
  },
  min: { needs: 'ordered', result: () => null, sql: (column) => `min(${column})` },
  max: { needs: 'ordered', result: () => null, sql: (column) => `max(${column})` },
  distinct: { result: () => number, sql: (column) => `uniqExact(${column})` },
  // a value that a record has: of n in order the one at place level * n, counted from 0
  quantile: {
    needs: 'summed',
    result: (of) => of,
    sql: (column, level) => `quantileExact(${level})(${column})`,
  },
};

function exactSum(column: string): string {
  return `sum(toInt256(${column}))`;
}

/** The nearest number with more digits, the larger one of two in absolute value. */
function exactAverage(column: string): string {
  const sum = `(2 * ${10 ** moreDigits} * ${exactSum(column)})`;
  const count = `toInt256(count(${column}))`;
  return `if(${count} = 0, NULL, intDiv(${sum} + if(${sum} < 0, -${count}, ${count}), 2 * ${count}))`;
}

export function functionsFor(kind: ValueKind): readonly string[] {
  return Object.keys(functions).filter((name) => isFor(kind, functions[name] as AggregateFunction));
}
