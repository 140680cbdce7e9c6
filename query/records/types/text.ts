import { textLiteral } from '#engine/literal.ts';
import { string } from '#kernel/json/schema.ts';
import { decimalOf } from './decimal.ts';
import { type Conversion, type Convert, type FieldTypeEntry, misfit } from './field-type.ts';
import { normalized } from './normalize.ts';
import { numberSql } from './number.ts';
import { instantTextSql, isDaySql, isRfc3339Sql, rfc3339MicrosSql } from './times.ts';
import { textOrder } from './value-order.ts';

const valid = 'string';

export function hasLoneSurrogate(text: string): boolean {
  return !text.isWellFormed();
}

export const text: FieldTypeEntry = {
  words: 'a TEXT',
  title: 'Text',
  valid,
  can: ['listed', 'ordered', 'text'],
  read(value, { normalize }) {
    if (typeof value !== 'string') return misfit(valid);
    if (hasLoneSurrogate(value)) return misfit(valid, 'it has half of a surrogate pair');
    return { value: normalized(value, normalize) };
  },
  readText: (value, options) => text.read(value, options),
  infers: (value) => typeof value === 'string',
  isJson: false,
  cell: 'text',
  isQuoted: true,
  comparable: (value) => value,
  order: textOrder,
  column: () => 't',
  engineType: 'String',
  castSql: (value) => value,
  literal: (value) => textLiteral(value as string),
  jsonSql: (value) => `toJSONString(${value})`,
  schema: string,
  example: 'text',
  conversions: {
    BOOLEAN: (value) => ({
      fits: `${value} IN ('true', 'false')`,
      text: value,
      column: `CAST(${value} = 'true', 'Bool')`,
    }),
    NUMBER: numberOf,
    INTEGER: wholeOf(`abs(toInt128OrZero({})) <= ${Number.MAX_SAFE_INTEGER}`, 'toFloat64OrZero'),
    BIGINT: wholeOf('toString(toInt64OrZero({})) = {}', 'toInt64OrZero'),
    DECIMAL: decimalOf,
    DATE: dayOf,
    DATETIME: instantOf,
  },
};

/** Digits as they are stored. @param fits a condition on `{}` */
function wholeOf(fits: string, cast: string): Convert {
  return (text) => ({
    fits: `match(${text}, '^(0|-?[1-9][0-9]{0,30})$') AND ${fits.replaceAll('{}', text)}`,
    text,
    column: `${cast}(${text})`,
  });
}

/** Any day that a DATE takes. */
function dayOf(text: string): Conversion {
  return { fits: isDaySql(text), text, column: rfc3339MicrosSql(`concat(${text}, 'T00:00:00Z')`) };
}

/** Any time that a DATETIME takes. */
function instantOf(text: string): Conversion {
  const column = rfc3339MicrosSql(text);
  return { fits: isRfc3339Sql(text), text: instantTextSql(column), column };
}

/**
 * A text is a number when it is how JavaScript writes that number, zeros behind its fraction aside: `12`, `-0.50` and
 * `1e+21`, and neither `007` nor digits that a double does not hold. Both write the shortest digits that are read as the
 * same double, so the conversion is exact; the engine's exponents have no plus.
 */
function numberOf(value: string): Conversion {
  const withoutZeros = `replaceRegexpOne(${value}, ${textLiteral('(\\.[0-9]*[1-9])0+$')}, '\\\\1')`;
  const short = `replaceRegexpOne(${withoutZeros}, ${textLiteral('\\.0+$')}, '')`;
  const number = `toFloat64OrNull(${short})`;
  const fits = `ifNull(isFinite(${number}) AND ${numberSql(number)} = ${short} AND ${short} != '-0', false)`;
  return { fits, text: short, column: number };
}
