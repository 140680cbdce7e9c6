import { decimalOf } from './decimal.ts';
import { asStored, type FieldTypeEntry, misfit, type ValueReading } from './field-type.ts';
import { exactOrder } from './value-order.ts';

const valid = 'whole number of 64 bits';
const [least, most] = [-(2n ** 63n), 2n ** 63n - 1n];

function readDigits(text: string): ValueReading {
  if (!/^[+-]?\d{1,40}$/.test(text)) return misfit(valid, 'write its digits');
  const value = ifFits(BigInt(text.replace('+', '')));
  return value === null ? misfit(valid) : { value };
}

function ifFits(value: bigint): string | null {
  return value < least || value > most ? null : String(value);
}

/** A whole number of 64 bits. JSON's numbers would be rounded by most readers, so it is a string of digits. */
export const bigint: FieldTypeEntry = {
  words: 'a BIGINT',
  title: 'BigInt',
  valid,
  can: ['listed', 'ordered', 'summed'],
  read(value) {
    if (typeof value === 'string') return readDigits(value);
    if (typeof value !== 'number' || !Number.isInteger(value)) return misfit(valid);
    return Number.isSafeInteger(value)
      ? { value: String(value === 0 ? 0 : value) }
      : misfit(valid, 'a JSON number may have been rounded: write its digits as a string');
  },
  readText: readDigits,
  emptyIsMissing: true,
  infers: () => false,
  isJson: false,
  cell: 'text',
  isQuoted: true,
  comparable: BigInt,
  order: exactOrder,
  column: () => 'i',
  engineType: 'Int64',
  castSql: (text) => `toInt64OrZero(${text})`,
  literal: (value) => `toInt64('${value}')`,
  textSql: (value) => `toString(${value})`,
  textOfDigits: (digits) => digits,
  isExact: true,
  jsonSql: (value) => `concat('"', toString(${value}), '"')`,
  schema: { type: 'string', pattern: '^-?[0-9]{1,19}$', example: '9007199254740993' },
  example: '9007199254740993',
  conversions: { TEXT: asStored, DECIMAL: decimalOf },
  addition: {
    engineType: 'Int256',
    sum: (stored = '0', by) => ifFits(BigInt(stored) + BigInt(by as string)),
    fits: (sum) => `${sum} BETWEEN toInt256('${least}') AND toInt256('${most}')`,
    textSql: (sum) => `toString(${sum})`,
  },
  now: (now) => String(now.getTime()),
};
