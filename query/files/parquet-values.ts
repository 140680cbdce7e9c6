import { textLiteral } from '#engine/literal.ts';
import type { Unfit } from './file-columns.ts';

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

/** A value in a list, struct or map. @param sql the value @param depth of lists and maps around it */
export function nestedValue(type: string, sql: string, nanIsNull: boolean, depth = 0): ParquetValue {
  const { name, args } = partsOf(type);
  const [first = '', second = ''] = args;
  switch (name) {
    case 'Nullable':
    case 'LowCardinality': {
      const value = nestedValue(first, sql, nanIsNull, depth);
      return value.sql === sql ? { ...value, type } : value;
    }
    case 'Array':
      return eachOf(first, sql, nanIsNull, depth);
    case 'Map': {
      const keys = eachOf(first, `mapKeys(${sql})`, nanIsNull, depth);
      const values = eachOf(second, `mapValues(${sql})`, nanIsNull, depth);
      const unfits = [...keys.unfits, ...values.unfits];
      if (!/^Date/.test(first) && values.sql === `mapValues(${sql})`) return { sql, type, unfits };
      // keys are never null
      const texts = `arrayMap(k -> toString(assumeNotNull(k)), ${keys.sql})`;
      const valueType = values.type.slice('Array('.length, -1);
      return { sql: `mapFromArrays(${texts}, ${values.sql})`, type: `Map(String, ${valueType})`, unfits };
    }
    case 'Tuple':
      return fieldsOf(args, sql, nanIsNull, depth);
    default:
      return scalarValue(type, sql, nanIsNull);
  }
}

function eachOf(type: string, list: string, nanIsNull: boolean, depth: number): ParquetValue {
  const item = `v${depth}`;
  const value = nestedValue(type, item, nanIsNull, depth + 1);
  return {
    sql: value.sql === item ? list : `arrayMap(${item} -> ${value.sql}, ${list})`,
    type: `Array(${value.type})`,
    unfits: value.unfits.map(({ sql, reason }) => ({
      sql: `arrayExists(${item} -> ifNull(${sql}, 0), ${list})`,
      reason,
    })),
  };
}

function fieldsOf(args: readonly string[], sql: string, nanIsNull: boolean, depth: number): ParquetValue {
  const fields = args.map((arg, index) => {
    const [, name = '', type = ''] = /^(`(?:\\.|[^`\\])*`|\w+) (.*)$/s.exec(arg) ?? [];
    const element = `tupleElement(${sql}, ${index + 1})`;
    const value = nestedValue(type, element, nanIsNull, depth);
    return { name, value, isChanged: value.sql !== element };
  });
  const type = `Tuple(${fields.map(({ name, value }) => `${name} ${value.type}`).join(', ')})`;
  const unfits = fields.flatMap(({ value }) => value.unfits);
  if (!fields.some(({ isChanged }) => isChanged)) return { sql, type, unfits };
  const values = fields.map(({ value }) => value.sql).join(', ');
  return { sql: `CAST(tuple(${values}), ${textLiteral(type)})`, type, unfits };
}

function scalarValue(type: string, sql: string, nanIsNull: boolean): ParquetValue {
  if (type === 'Date32') return { type: 'Nullable(String)', ...dateValue(sql) };
  if (/^Date/.test(type)) return { type: 'Nullable(String)', ...timeValue(`toDateTime64(${sql}, 3, 'UTC')`) };
  if (/^B?Float/.test(type)) return { type: 'Nullable(Float64)', ...floatValue(sql, nanIsNull) };
  if (/^U?Int(?:64|128|256)/.test(type)) return { sql, type, unfits: [longUnfit(sql)] };
  if (type === 'String') return { sql, type, unfits: [textUnfit(sql)] };
  return { sql, type, unfits: /^FixedString/.test(type) ? [bytesUnfit(sql)] : [] };
}

type Read = Omit<ParquetValue, 'type'>;

const outOfRange = 'is a time beyond the years 0 to 9999, which only imports read';

/** A date in ISO 8601. @param sql days since 1970: the engine's Date32 is limited to the years 1900 to 2299 */
export function dateValue(sql: string): Read {
  const time = `fromUnixTimestamp64Milli(toInt64(${sql}) * 86400000, 'UTC')`;
  const unfit = { sql: `${sql} > 2932896 OR ${sql} < -719528`, reason: outOfRange };
  return { sql: isoSql(time), unfits: [unfit] };
}

/** A time in ISO 8601. @param sql a DateTime64 of milliseconds */
export function timeValue(sql: string): Read {
  const milliseconds = `toUnixTimestamp64Milli(${sql})`;
  const unfit = `${milliseconds} > 253402300799999 OR ${milliseconds} < -62167219200000`;
  return { sql: isoSql(sql), unfits: [{ sql: unfit, reason: outOfRange }] };
}

function isoSql(time: string): string {
  return `concat(replaceOne(toString(${time}), ' ', 'T'), 'Z')`;
}

export function floatValue(sql: string, nanIsNull: boolean): Read {
  const number = `toFloat64(${sql})`;
  if (nanIsNull) return { sql: `if(isFinite(${number}), ${number}, NULL)`, unfits: [] };
  const reason = 'is NaN or infinite, which no field holds; nan=null makes it null';
  return { sql: number, unfits: [{ sql: `NOT isFinite(${number})`, reason }] };
}

/** For integers that a double would round. */
export function longUnfit(sql: string): Unfit {
  const isLong = `(${sql} > 9007199254740992 OR ${sql} < -9007199254740992)`;
  return {
    sql: `${isLong} AND toInt256(toFloat64(${sql})) != toInt256(${sql})`,
    reason: 'has more digits than a NUMBER can hold',
  };
}

export function textUnfit(sql: string): Unfit {
  return { sql: `NOT isValidUTF8(${sql})`, reason: 'is not valid UTF-8' };
}

export function bytesUnfit(sql: string): Unfit {
  return { sql: `isNotNull(${sql})`, reason: 'is bytes, which no field holds' };
}
