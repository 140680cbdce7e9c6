import {
  asStored,
  type Conversion,
  type FieldTypeEntry,
  misfit,
  type ValueOptions,
  type ValueReading,
} from './field-type.ts';
import { exactOrder } from './value-order.ts';

const valid = 'decimal number';
/** Digits of a number that the engine computes with. */
export const mostPrecision = 38;
/** Digits of 64 bits. */
const mostInColumn = 18;

function readDecimal(text: string, { precision = mostPrecision, scale = 0 }: ValueOptions): ValueReading {
  const [, sign = '', whole = '', fraction = ''] = /^([+-]?)(\d{1,100})(?:\.(\d{1,100}))?$/.exec(text) ?? [];
  if (whole === '') return misfit(valid, 'write it as 12.30');
  const kept = fraction.slice(0, scale).padEnd(scale, '0');
  if (/[1-9]/.test(fraction.slice(scale)))
    return misfit(valid, `it has more than ${scale} digits behind the point`);
  const digits = whole.replace(/^0+(?=\d)/, '');
  if (digits !== '0' && digits.length > precision - scale)
    return misfit(valid, `it has more than ${precision - scale} digits before the point`);
  const unsigned = scale === 0 ? digits : `${digits}.${kept}`;
  const isNegative = sign === '-' && /[1-9]/.test(unsigned);
  return { value: isNegative ? `-${unsigned}` : unsigned };
}

/** SQL for digits without a point as a decimal. */
function decimalSql(value: string, { scale = 0 }: ValueOptions): string {
  if (scale === 0) return `toString(${value})`;
  const absolute = `toString(abs(${value}))`;
  // without `greatest` it would cut longer texts
  const digits = `leftPad(${absolute}, greatest(length(${absolute}), ${scale + 1}), '0')`;
  const before = `substring(${digits}, 1, length(${digits}) - ${scale})`;
  return `concat(if(${value} < 0, '-', ''), ${before}, '.', right(${digits}, ${scale}))`;
}

/** How digits, with zeros at the ends if need be, become a decimal. @param text SQL for `-12`, `12.3` or `0012.300` */
export function decimalOf(
  text: string,
  _: ValueOptions,
  { precision = mostPrecision, scale = 0 }: ValueOptions,
): Conversion {
  const unsigned = `replaceRegexpOne(${text}, '^[+-]?0*([0-9])', '\\\\1')`;
  const whole = `splitByChar('.', ${unsigned})[1]`;
  const fraction = `splitByChar('.', ${unsigned})[2]`;
  const kept = `rightPad(substring(${fraction}, 1, ${scale}), ${scale}, '0')`;
  const isWritten = `match(${text}, '^[+-]?[0-9]+([.][0-9]+)?$')`;
  const isExact = `NOT match(substring(${fraction}, ${scale + 1}), '[1-9]')`;
  const isShort = `(${whole} = '0' OR length(${whole}) <= ${precision - scale})`;
  const digits = scale === 0 ? whole : `concat(${whole}, '.', ${kept})`;
  const signed = `concat(if(startsWith(${text}, '-') AND match(${digits}, '[1-9]'), '-', ''), ${digits})`;
  return {
    fits: `${isWritten} AND ${isExact} AND ${isShort}`,
    text: signed,
    column: `toInt64OrZero(replaceOne(${signed}, '.', ''))`,
  };
}

/** A decimal without its point. */
function digitsOf(text: string): bigint {
  return BigInt(text.replace('.', ''));
}

/** The first number without a point that has too many digits. */
function limitOf({ precision = mostPrecision }: ValueOptions): bigint {
  return 10n ** BigInt(precision);
}

function decimalText(digits: string, { scale = 0 }: ValueOptions): string {
  if (scale === 0) return digits;
  const [sign, unsigned] = digits.startsWith('-') ? ['-', digits.slice(1)] : ['', digits];
  const padded = unsigned.padStart(scale + 1, '0');
  return `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`;
}

/** An exact decimal number with as many digits behind the point as its field says: in the engine its digits without the point. */
export const decimal: FieldTypeEntry = {
  words: 'a DECIMAL',
  title: 'Decimal',
  valid,
  can: ['listed', 'ordered', 'summed'],
  read(value, options) {
    if (typeof value === 'string') return readDecimal(value, options);
    if (typeof value !== 'number' || !Number.isFinite(value)) return misfit(valid);
    // the shortest digits of the double, which are those that were written, unless there were too many
    const text = String(value);
    if (/e/.test(text) || text.replace(/[-.]/g, '').replace(/^0+/, '').length > 15)
      return misfit(valid, 'a JSON number may have been rounded: write its digits as a string');
    return readDecimal(text, options);
  },
  readText: readDecimal,
  hasDigits: true,
  emptyIsMissing: true,
  infers: () => false,
  isJson: false,
  cell: 'text',
  isQuoted: true,
  comparable: digitsOf,
  order: exactOrder,
  column: ({ precision = mostPrecision }) => (precision <= mostInColumn ? 'i' : null),
  engineType: 'Int128',
  castSql: (text) => `toInt128OrZero(replaceOne(${text}, '.', ''))`,
  literal: (value) => `toInt128('${digitsOf(value as string)}')`,
  castText: (value) => String(digitsOf(value)),
  textSql: decimalSql,
  textOfDigits: decimalText,
  tableSql: (value, options) => {
    const { precision = mostPrecision, scale = 0 } = options;
    return `CAST(${decimalSql(value, options)}, 'Nullable(Decimal(${precision}, ${scale}))')`;
  },
  isExact: true,
  jsonSql: (value, options) => `concat('"', ${decimalSql(value, options)}, '"')`,
  schema: { type: 'string', pattern: '^-?[0-9]+([.][0-9]+)?$', example: '12.30' },
  example: '1',
  conversions: { TEXT: asStored, DECIMAL: decimalOf },
  addition: {
    engineType: 'Int256',
    sum(stored = '0', by, options) {
      const sum = digitsOf(stored) + digitsOf(by as string);
      const most = limitOf(options);
      return sum < most && sum > -most ? decimalText(String(sum), options) : null;
    },
    fits: (sum, options) => `abs(${sum}) < toInt256('${limitOf(options)}')`,
    textSql: decimalSql,
  },
  now: (now) => String(now.getTime()),
};
