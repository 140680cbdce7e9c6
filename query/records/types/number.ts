import { numberLiteral } from '#engine/literal.ts';
import { roundingOf } from '#kernel/json/rounded-number.ts';
import { asStored, type FieldTypeEntry, misfit } from './field-type.ts';
import { isObject } from './is-object.ts';
import { numberOrder } from './value-order.ts';

const valid = 'number';
// as JSON writes numbers, and with a plus sign, leading zeros or without the zero before the point
const decimal = /^[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?$/;

export const number: FieldTypeEntry = {
  words: 'a NUMBER',
  title: 'Number',
  valid,
  can: ['listed', 'ordered', 'summed'],
  read(value) {
    if (typeof value !== 'number' || !Number.isFinite(value)) return misfit(valid);
    // -0 and 0 are the same value, also for a unique field
    return { value: value === 0 ? 0 : value };
  },
  readText(text, options) {
    if (!decimal.test(text)) return misfit(valid);
    const rounding = roundingOf(text);
    return rounding === null ? number.read(Number(text), options) : misfit(valid, `it ${rounding}`);
  },
  emptyIsMissing: true,
  infers: (value) => typeof value === 'number' || isIncrement(value),
  isJson: false,
  cell: 'number',
  isQuoted: false,
  comparable: Number,
  order: numberOrder,
  column: () => 'n',
  engineType: 'Float64',
  castSql: (text) => `toFloat64OrZero(${text})`,
  literal: (value) => numberLiteral(value as number),
  jsonSql: (value) => `toJSONString(${value})`,
  schema: { type: 'number' },
  example: 1,
  conversions: {
    TEXT: asStored,
    INTEGER: (text) => {
      const number = `toFloat64OrZero(${text})`;
      const fits = `${number} = trunc(${number}) AND abs(${number}) <= ${Number.MAX_SAFE_INTEGER}`;
      return { fits, text, column: number };
    },
  },
  addition: {
    // small enough to be rounded away when added to the largest double, so no sum is infinite
    most: 1e291,
    engineType: 'Float64',
    sum: (stored = '0', by) => String(Number(stored) + (by as number)),
    textSql: numberSql,
  },
  now: (now) => now.getTime(),
};

/** Whether a value of a change adds to a stored number. */
function isIncrement(value: unknown): boolean {
  return isObject(value) && typeof value.$inc === 'number' && Object.keys(value).length === 1;
}

/** SQL for a number as `_doc` stores it: as JavaScript writes it. */
export function numberSql(value: string): string {
  return `replaceRegexpOne(toString(${value}), 'e([0-9])', 'e+\\\\1')`;
}
