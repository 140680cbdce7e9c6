import { textLiteral } from '#engine/literal.ts';
import type { TypedField } from '#records/types/field-types.ts';
import { numberSql } from '#records/types/number.ts';
import { dayTextSql, endOfTime, firstTime, instantTextSql } from '#records/types/times.ts';
import type { LocalTimes } from '../imports/thread/local-times.ts';
import { isRoundedSql } from './cell-types.ts';
import type { Unfit } from './file-columns.ts';
import { zonedTimeSql } from './file-times-sql.ts';

/** A value of a Parquet file, as an import would read it. */
export interface ParquetValue {
  readonly sql: string;
  /** The type of the engine. */
  readonly type: string;
  readonly unfits: readonly Unfit[];
}

/** `Map(String, Nullable(Int64))` as its name and arguments. */
function partsOf(type: string): { readonly name: string; readonly args: readonly string[] } {
  const [, name = type, inner = ''] = /^(\w+)\((.*)\)$/s.exec(type) ?? [];
  const args: string[] = [];
  let depth = 0;
  let start = 0;
  // quoted names, and what separates arguments
  for (const { 0: char, index } of inner.matchAll(/`(?:\\.|[^`\\])*`|'(?:\\.|[^'\\])*'|[(),]/g)) {
    if (char === '(') depth++;
    else if (char === ')') depth--;
    else if (char === ',' && depth === 0) {
      args.push(inner.slice(start, index).trim());
      start = index + 1;
    }
  }
  if (inner !== '') args.push(inner.slice(start).trim());
  return { name, args };
}

/** How a reading changes values, and what the file says of the leaves of a column that the engine's types do not say. */
interface ValueOptions {
  readonly nanIsNull: boolean;
  /** Logical types of the leaves, as the engine names them, in their order: those that are not used yet. */
  readonly leaves: string[];
  /** Whether values are keys of a map, which are texts with all their digits. */
  readonly areKeys?: boolean;
}

/** A value in a list, struct or map. @param sql the value @param depth of lists and maps around it */
export function nestedValue(type: string, sql: string, options: ValueOptions, depth = 0): ParquetValue {
  const { name, args } = partsOf(type);
  const [first = '', second = ''] = args;
  switch (name) {
    case 'Nullable':
    case 'LowCardinality': {
      const value = nestedValue(first, sql, options, depth);
      return value.sql === sql ? { ...value, type } : value;
    }
    case 'Array':
      return eachOf(first, sql, options, depth);
    case 'Map': {
      const keys = eachOf(first, `mapKeys(${sql})`, { ...options, areKeys: true }, depth);
      const values = eachOf(second, `mapValues(${sql})`, options, depth);
      const unfits = [...keys.unfits, ...values.unfits];
      if (keys.sql === `mapKeys(${sql})` && values.sql === `mapValues(${sql})`) return { sql, type, unfits };
      // keys are never null
      const texts = `arrayMap(k -> toString(assumeNotNull(k)), ${keys.sql})`;
      const valueType = values.type.slice('Array('.length, -1);
      return { sql: `mapFromArrays(${texts}, ${values.sql})`, type: `Map(String, ${valueType})`, unfits };
    }
    case 'Tuple':
      return fieldsOf(args, sql, options, depth);
    default:
      return scalarValue(type, sql, options);
  }
}

function eachOf(type: string, list: string, options: ValueOptions, depth: number): ParquetValue {
  const item = `v${depth}`;
  const value = nestedValue(type, item, options, depth + 1);
  return {
    sql: value.sql === item ? list : `arrayMap(${item} -> ${value.sql}, ${list})`,
    type: `Array(${value.type})`,
    unfits: value.unfits.map(({ sql, reason }) => ({
      sql: `arrayExists(${item} -> ifNull(${sql}, 0), ${list})`,
      reason,
    })),
  };
}

function fieldsOf(args: readonly string[], sql: string, options: ValueOptions, depth: number): ParquetValue {
  const fields = args.map((arg, index) => {
    const [, name = '', type = ''] = /^(`(?:\\.|[^`\\])*`|\w+) (.*)$/s.exec(arg) ?? [];
    const element = `tupleElement(${sql}, ${index + 1})`;
    const value = nestedValue(type, element, options, depth);
    return { name, value, isChanged: value.sql !== element };
  });
  const type = `Tuple(${fields.map(({ name, value }) => `${name} ${value.type}`).join(', ')})`;
  const unfits = fields.flatMap(({ value }) => value.unfits);
  if (!fields.some(({ isChanged }) => isChanged)) return { sql, type, unfits };
  const values = fields.map(({ value }) => value.sql).join(', ');
  return { sql: `CAST(tuple(${values}), ${textLiteral(type)})`, type, unfits };
}

function scalarValue(
  type: string,
  sql: string,
  { nanIsNull, leaves, areKeys = false }: ValueOptions,
): ParquetValue {
  const logical = leaves.shift() ?? '';
  const text = 'Nullable(String)';
  if (type === 'Date32') {
    const { sql: micros, unfits } = dayValue(sql);
    return { type: text, sql: dayTextSql(micros), unfits };
  }
  if (logical.startsWith('Time(')) return { type: text, ...timeOfDayValue(sql) };
  if (/^Date/.test(type)) return { type: text, ...timeText(type, sql, logical) };
  if (areKeys && /^B?Float/.test(type)) {
    const { sql: number, unfits } = floatValue(sql, false);
    return { type: text, sql: numberSql(number), unfits };
  }
  if (/^B?Float/.test(type)) return { type: 'Nullable(Float64)', ...floatValue(sql, nanIsNull) };
  const scale = scaleOf(type);
  if (areKeys && scale !== null) return { type: text, sql: `toDecimalString(${sql}, ${scale})`, unfits: [] };
  if (areKeys && /^U?Int/.test(type)) return { sql, type, unfits: [] };
  if (/^U?Int(?:64|128|256)/.test(type)) return { sql, type, unfits: [longUnfit(sql)] };
  if (type.startsWith('Decimal')) return { sql, type, unfits: [decimalUnfit(sql)] };
  if (type === 'String') return { sql, type, unfits: [textUnfit(sql)] };
  return { sql, type, unfits: /^FixedString/.test(type) ? [bytesUnfit(sql)] : [] };
}

type Read = Omit<ParquetValue, 'type'>;

const outOfRange = 'is a time that is out of range';
/** Milliseconds since 1970 of the years that times have. */
const isBeyond = (milliseconds: string): string =>
  `${milliseconds} >= ${endOfTime} OR ${milliseconds} < ${firstTime}`;

/** Whether a DateTime64 is in another year: in its own unit, as the engine cuts digits off, and other units may be too small. */
function isBeyondYears(sql: string, logical: string): string {
  if (!logical.includes('timeUnit=microseconds')) return isBeyond(`toUnixTimestamp64Milli(${sql})`);
  const micros = `toUnixTimestamp64Micro(${sql})`;
  return `${micros} >= ${endOfTime}000 OR ${micros} < ${firstTime}000`;
}

/** A day in microseconds since 1970. @param sql days since 1970: the engine's Date32 is limited to the years 1900 to 2299 */
export function dayValue(sql: string): Read {
  const unfit = { sql: isBeyond(`toInt64(${sql}) * 86400000`), reason: outOfRange };
  return { sql: `toInt64(${sql}) * 86400000000`, unfits: [unfit] };
}

/** A time in microseconds since 1970. @param sql a DateTime64 @param logical what the file says of the column */
export function timeValue(sql: string, logical: string, zone: LocalTimes | null): Read {
  // the engine computes those of other years, too, and its function would fail
  const micros = logical.includes('timeUnit=milliseconds')
    ? `toUnixTimestamp64Milli(${sql}) * 1000`
    : `toUnixTimestamp64Micro(${sql})`;
  const unfits = [
    { sql: isBeyondYears(sql, logical), reason: outOfRange },
    {
      sql: `toUnixTimestamp64Nano(${sql}) % 1000 != 0`,
      reason: 'should be a valid time: it has digits beyond the microsecond',
    },
  ].slice(0, hasNanos(logical) ? 2 : 1);
  if (isUtc(logical)) return { sql: micros, unfits };
  const zoned = zonedTimeSql(micros, zone);
  return { sql: zoned.sql, unfits: [...unfits, ...zoned.unfits] };
}

/** A time as a text in ISO 8601, with all its digits, and with a Z only in UTC. */
function timeText(type: string, sql: string, logical: string): Read {
  const nanos = `toUnixTimestamp64Nano(${sql})`;
  const isFine = /^DateTime64\(9/.test(type);
  // the engine cuts nanoseconds off, also before 1970
  const micros = `toUnixTimestamp64Micro(${sql})${isFine ? ` - (${nanos} % 1000 < 0)` : ''}`;
  const text = instantTextSql(`(${micros})`);
  const zone = isUtc(logical) ? 'Z' : '';
  const unfits = [{ sql: isBeyondYears(sql, logical), reason: outOfRange }];
  const short = zone === '' ? `substring(${text}, 1, length(${text}) - 1)` : text;
  if (!isFine) return { sql: short, unfits };
  const digits = `leftPad(toString(((${nanos} % 1000000000) + 1000000000) % 1000000000), 9, '0')`;
  return {
    sql: `if(${nanos} % 1000 = 0, ${short}, concat(substring(${text}, 1, 20), ${digits}, '${zone}'))`,
    unfits,
  };
}

function isUtc(logical: string): boolean {
  return !logical.includes('isAdjustedToUTC=false');
}

function hasNanos(logical: string): boolean {
  // INT96, which has no logical type, counts nanoseconds too
  return !/timeUnit=(?:milli|micro)seconds/.test(logical);
}

/** A time of a day. @param sql a DateTime64, as if it were of 1970 */
export function timeOfDayValue(sql: string): Read {
  const milliseconds = `toUnixTimestamp64Milli(${sql})`;
  return {
    sql: `replaceRegexpOne(substring(toString(${sql}), 12), '[.]?(000)+$', '')`,
    unfits: [{ sql: `${milliseconds} < 0 OR ${milliseconds} >= 86400000`, reason: outOfRange }],
  };
}

export function floatValue(sql: string, nanIsNull: boolean): Read {
  const number = `toFloat64(${sql})`;
  if (nanIsNull) return { sql: `if(isFinite(${number}), ${number}, NULL)`, unfits: [] };
  const reason = 'is NaN or infinite, which no field holds; nan=null makes it null';
  return { sql: number, unfits: [{ sql: `NOT isFinite(${number})`, reason }] };
}

export function longValue(sql: string): Read {
  const unfit = {
    sql: `${sql} > toInt64('9223372036854775807')`,
    reason: 'should be a valid whole number of 64 bits',
  };
  return { sql: `toInt64(${sql})`, unfits: [unfit] };
}

/** Null: it is no decimal. */
function scaleOf(engineType: string): number | null {
  const [, scale] = /^Decimal\(\d+, (\d+)\)/.exec(engineType) ?? [];
  return scale === undefined ? null : Number(scale);
}

/** The digits of a decimal, without its point. @param engineType with the scale of the file @param scale of the field */
export function decimalValue(
  sql: string,
  engineType: string,
  { precision = 0, scale = 0 }: TypedField,
): Read {
  const ofFile = scaleOf(engineType) ?? scale;
  const cut = ofFile - scale;
  const text = `toDecimalString(${sql}, ${ofFile})`;
  const digits = `replaceOne(${cut > 0 ? `substring(${text}, 1, length(${text}) - ${cut})` : text}, '.', '')`;
  const isLong = `length(replaceRegexpOne(${digits}, '^-?0*', '')) > ${precision}`;
  const isCut = cut > 0 ? ` OR match(right(${text}, ${cut}), '[1-9]')` : '';
  const reason = `should be a valid decimal number: it has more than ${precision} digits`;
  return { sql: `toInt128(${digits})`, unfits: [{ sql: `${isLong}${isCut}`, reason }] };
}

/** For integers that a double would round. */
function longUnfit(sql: string): Unfit {
  const isLong = `(${sql} > 9007199254740992 OR ${sql} < -9007199254740992)`;
  return {
    sql: `${isLong} AND toInt256(toFloat64(${sql})) != toInt256(${sql})`,
    reason: tooLong,
  };
}

/** For decimals whose digits a double does not have. */
function decimalUnfit(sql: string): Unfit {
  const text = `toString(${sql})`;
  const digits = `length(replaceRegexpOne(replaceOne(${text}, '.', ''), '^-?0*', ''))`;
  return {
    sql: `${digits} > 15 AND (position(${text}, '.') > 0 OR ${isRoundedSql(text)})`,
    reason: tooLong,
  };
}

const tooLong = 'has more digits than a NUMBER can hold';

export function textUnfit(sql: string): Unfit {
  return { sql: `NOT isValidUTF8(${sql})`, reason: 'is not valid UTF-8' };
}

export function bytesUnfit(sql: string): Unfit {
  return { sql: `isNotNull(${sql})`, reason: 'is bytes, which no field holds' };
}
