import { decimalOf } from './decimal.ts';
import { asStored, type FieldTypeEntry, misfit } from './field-type.ts';
import { number, numberSql } from './number.ts';

const valid = 'whole number';
const most = Number.MAX_SAFE_INTEGER;

/** A whole number that a double holds. */
export const integer: FieldTypeEntry = {
  ...number,
  words: 'an INTEGER',
  title: 'Integer',
  valid,
  read(value) {
    if (typeof value !== 'number' || !Number.isInteger(value)) return misfit(valid);
    if (!Number.isSafeInteger(value)) return misfit(valid, `from ${-most} to ${most}; a BIGINT takes more`);
    // -0 and 0 are the same value, also for a unique field
    return { value: value === 0 ? 0 : value };
  },
  readText: (text, options) =>
    /^[+-]?\d+$/.test(text) ? integer.read(Number(text), options) : misfit(valid),
  cell: 'digits',
  infers: () => false,
  tableSql: (value) => `toInt64(${value})`,
  // generators of Java and Go would take 32 bits
  schema: { type: 'integer', format: 'int64', minimum: -most, maximum: most },
  conversions: {
    TEXT: asStored,
    NUMBER: (text) => ({ fits: '1', text, column: `toFloat64OrZero(${text})` }),
    BIGINT: (text) => ({ fits: '1', text, column: `toInt64OrZero(${text})` }),
    DECIMAL: decimalOf,
  },
  addition: {
    engineType: 'Float64',
    sum(stored = '0', by) {
      const sum = Number(stored) + (by as number);
      return Number.isSafeInteger(sum) ? String(sum) : null;
    },
    fits: (sum) => `abs(${sum}) <= ${most}`,
    textSql: numberSql,
  },
};
