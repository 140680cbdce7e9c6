import { quoteIdentifier, settingsText, textLiteral } from '#engine/literal.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { FieldType, TypedField } from '#records/types/field-types.ts';
import { fileTypes } from '#records/types/file-types.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import { isLeftOut } from '../imports/formats/source-records.ts';
import { type FileReading, unnamedColumn } from '../imports/thread/file-records.ts';
import type { LocalTimes } from '../imports/thread/local-times.ts';
import {
  type FetchRows,
  type FileColumn,
  type FileLocation,
  type FileTable,
  jsonColumn,
  renamed,
  tableFunctionSql,
  tableOf,
} from './file-columns.ts';
import { withZoneSql } from './file-times-sql.ts';
import {
  bytesUnfit,
  dayValue,
  decimalValue,
  floatValue,
  longValue,
  nestedValue,
  textUnfit,
  timeOfDayValue,
  timeValue,
} from './parquet-values.ts';
import type { TableShape } from './table-shape.ts';

interface DescribedColumn {
  readonly name: string;
  /** The type of the engine. */
  readonly type: string;
  /** Whether it is a list of records in an old form, of which the engine loses the record. */
  readonly isRecordList: boolean;
  /** The logical types of its leaves in the file, as the engine names them. */
  readonly leaves: readonly string[];
  /** Whether one of its lists, maps or structs may be null, by the statistics. */
  readonly mayBeNull: boolean;
}

export async function parquetTable(
  { columns: found, zone }: TableShape,
  location: FileLocation,
  reading: FileReading,
  fetchRows: FetchRows,
): Promise<FileTable> {
  const described = (await describedColumns(location, reading, fetchRows)).filter(
    ({ name }) => !isLeftOut(name, reading),
  );
  // without it each statement would infer the types again, from the beginning of the file
  const structure = described
    .map(({ name, type }) => `${quoteIdentifier(name)} ${readType(type)}`)
    .join(', ');
  const from = (location: FileLocation) => tableFunctionSql(location, 'Parquet', structure, false);
  const types = new Map(found.map((column) => [column.name, column]));
  const columns = described.map((column): FileColumn => {
    const { name, ...type } = types.get(column.name) ?? { name: column.name, ...fileTypes.text };
    const read = {
      name,
      ...type,
      ...parquetValue(column, type, { nanIsNull: reading.nanIsNull ?? false, zone }),
    };
    return column.mayBeNull ? { ...read, nullable: name } : read;
  });
  const settings = settingsText({
    prefer_column_name_to_alias: 1,
    input_format_parquet_preserve_order: 1,
    // the engine reads gaps between its columns up to this size, and seeks over larger ones
    remote_read_min_bytes_for_seek: 256 * 1024,
  });
  return { ...tableOf(renamed(columns, reading, null)), with: withZoneSql(zone), from, settings };
}

async function describedColumns(
  { kind, address }: FileLocation,
  { columns: chosen }: FileReading,
  fetchRows: FetchRows,
): Promise<readonly DescribedColumn[]> {
  const file = (format: string): string => `${kind}(${textLiteral(address)}, '${format}')`;
  const hasNulls = `arrayMap(at -> arrayExists(rows -> ifNull(rows.columns[at].statistics.null_count, 1) > 0, row_groups), arrayEnumerate(columns))`;
  const [metadata] = await fetchRows<{ paths: string[]; logical: string[]; nulls: number[] }>(
    `SELECT columns.path AS paths, columns.logical_type AS logical, ${hasNulls} AS nulls FROM ${file('ParquetMetadata')}`,
  );
  // the engine does not report columns without a name otherwise
  const unnamed = metadata?.paths.findIndex((path) => path === '' || path.startsWith('.')) ?? -1;
  if (unnamed !== -1 && chosen[''] !== null)
    throw new FileProblem(null, unnamedProblem(columnOf(metadata?.paths ?? [], unnamed), chosen));
  const described = await fetchRows<{ name: string; type: string }>(
    `DESCRIBE ${file('Parquet')} SETTINGS describe_compact_output = 1, input_format_parquet_enable_json_parsing = 0`,
  );
  const { paths = [], logical = [], nulls = [] } = metadata ?? {};
  return described.map(({ name, type }) => {
    // the columns `a` and `a.b` may be two without groups
    const isLeaf = paths.includes(name) && !isGroup(type);
    const leaves = paths.flatMap((path, leaf) =>
      path === name || (!isLeaf && path.startsWith(`${name}.`)) ? [leaf] : [],
    );
    return {
      name,
      type,
      isRecordList: isRecordList(name, type, paths),
      leaves: leaves.map((leaf) => logical[leaf] ?? ''),
      mayBeNull: isGroup(type) && leaves.some((leaf) => nulls[leaf] !== 0),
    };
  });
}

/** @param index from 0 */
function unnamedProblem(index: number, chosen: FileReading['columns']): string {
  return Object.hasOwn(chosen, '')
    ? `column ${index + 1} has no name, and in Parquet only imports can name it`
    : unnamedColumn(index);
}

/** Dates as days: the engine's Date32 is limited to the years 1900 to 2299. */
function readType(type: string): string {
  return type.replace(/\bDate32(?=[,)]|$)/g, 'Int32');
}

/** The place of the column that a path belongs to. @param leaf the place of the path: a list or struct has several */
function columnOf(paths: readonly string[], leaf: number): number {
  return new Set(paths.slice(0, leaf).map((path) => path.split('.')[0])).size;
}

/** Whether the engine reads the only field of the records of a list as the element (parquet-cells.ts). */
function isRecordList(name: string, type: string, paths: readonly string[]): boolean {
  if (!type.startsWith('Array') || type.startsWith('Array(Tuple')) return false;
  const isRecord = /^(?:array|.*_tuple)\../;
  return paths.some((path) => path.startsWith(`${name}.`) && isRecord.test(path.slice(name.length + 1)));
}

/** Whether a type of the engine is that of a list, map or struct. */
function isGroup(type: string): boolean {
  return /^(?:Array|Tuple|Map)\(/.test(type);
}

type Value = Pick<FileColumn, 'sql' | 'unfits'>;

interface ValueOptions {
  readonly nanIsNull: boolean;
  readonly zone: LocalTimes | null;
}

/** The values of a column, as an import would read them. */
function parquetValue(column: DescribedColumn, field: TypedField, options: ValueOptions): Value {
  const { name, type, leaves } = column;
  const sql = quoteIdentifier(name);
  const [logical = ''] = leaves;
  switch (field.type) {
    case fileTypes.boolean.type:
      return { sql };
    case fileTypes.int.type:
      return { sql: `toFloat64(${sql})` };
    case fileTypes.long.type:
      return longValue(sql);
    case fileTypes.double.type:
      return floatValue(sql, options.nanIsNull);
    case fileTypes.day.type:
      return dayValue(sql);
    case fileTypes.time.type:
      return timeValue(sql, logical, options.zone);
    case fileTypes.list.type:
    case fileTypes.struct.type:
      return jsonValue(column, field.type, options);
    case fileTypes.text.type:
      return textValue(sql, plainType(type), logical);
    default:
      return decimalValue(sql, plainType(type), field);
  }
}

function plainType(type: string): string {
  return type.replace(/^(?:LowCardinality\(|Nullable\()+/, '');
}

/** A list, struct or map, or a text that is JSON. */
function jsonValue(
  { name, type, leaves, isRecordList }: DescribedColumn,
  fieldType: FieldType,
  { nanIsNull }: ValueOptions,
): Value {
  const sql = quoteIdentifier(name);
  if (isRecordList) {
    const reason = 'is a list of records with one field in the old form, which only imports read';
    return { sql: `toJSONString(${sql})`, unfits: [{ sql: '1', reason }] };
  }
  if (/^(?:JSON|Object|Nested)/.test(plainType(type))) return { sql: `toJSONString(${sql})` };
  if (!isGroup(type)) return jsonColumn(name, fieldType, sql, `should be the JSON of an ${fieldType}`);
  const value = nestedValue(type, sql, { nanIsNull, leaves: [...leaves] });
  const unfits = value.unfits.map(({ sql, reason }) => ({ sql, reason: `a value in it ${reason}` }));
  return { sql: `toJSONString(${value.sql})`, unfits };
}

function textValue(sql: string, type: string, logical: string): Value {
  if (logical === 'Interval') return { sql: intervalSql(sql) };
  if (logical.startsWith('Time(')) return timeOfDayValue(sql);
  if (type.startsWith('FixedString') || logical === 'Bson')
    return { sql: `hex(${sql})`, unfits: [bytesUnfit(sql)] };
  return type.startsWith('String') ? { sql, unfits: [textUnfit(sql)] } : { sql: `toString(${sql})` };
}

/** Months, days and milliseconds as ISO 8601 (interval-text.ts). */
function intervalSql(sql: string): string {
  const text = `toString(${sql})`;
  const part = (at: number): string => `reinterpretAsUInt32(substring(${text}, ${at}, 4))`;
  const [months, days, milliseconds] = [part(1), part(5), part(9)];
  const date = `concat(if(${months} = 0, '', concat(toString(${months}), 'M')), if(${days} = 0, '', concat(toString(${days}), 'D')))`;
  const time = `if(${milliseconds} = 0 AND ${date} != '', '', concat('T', toString(${milliseconds} / 1000), 'S'))`;
  return `concat('P', ${date}, ${time})`;
}

/** The problem of the first row with an unfit value; null: the column has none. */
export async function unfitRow(
  table: FileTable,
  { name, unfits = [] }: FileColumn,
  location: FileLocation,
  fetchRows: FetchRows,
): Promise<FileProblem | null> {
  const reasons = unfits.map(({ sql }, index) => `ifNull(${sql}, 0), ${index + 1}`);
  if (reasons.length === 0) return null;
  const numbered = `${table.with} SELECT rowNumberInAllBlocks() AS row, multiIf(${reasons.join(', ')}, 0) AS unfit FROM ${table.from(location)}`;
  const [found] = await fetchRows<{ row: number; unfit: number }>(
    `SELECT toFloat64(row) AS row, unfit FROM (${numbered}) WHERE unfit > 0 ORDER BY row LIMIT 1 SETTINGS max_threads = 1, ${table.settings}`,
  );
  if (found === undefined) return null;
  return new FileProblem(found.row + 1, `${shownName(name)} ${unfits[found.unfit - 1]?.reason}`);
}
