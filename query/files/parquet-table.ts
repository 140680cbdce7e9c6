import { quoteIdentifier, settingsText, textLiteral } from '#engine/literal.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import { isLeftOut } from '../imports/formats/source-records.ts';
import { type FileReading, unnamedColumn } from '../imports/thread/file-records.ts';
import { cellTypesSql, likeliestType } from './cell-types.ts';
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
import {
  bytesUnfit,
  dateValue,
  floatValue,
  longUnfit,
  nestedValue,
  textUnfit,
  timeValue,
} from './parquet-values.ts';

/** Fewer than of a text file: the pages of the columns have to be read whole. */
const sampledRows = 1000;

interface DescribedColumn {
  readonly name: string;
  /** The type of the engine. */
  readonly type: string;
  /** The logical type in the file, as the engine names it. */
  readonly logical: string;
  /** Whether one of its lists, maps or structs may be null, by the statistics. */
  readonly mayBeNull: boolean;
}

export async function parquetTable(
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
  const columns = described.map((column): FileColumn => {
    const read = parquetColumn(column, reading.nanIsNull ?? false);
    return column.mayBeNull ? { ...read, nullable: column.name } : read;
  });
  const settings = settingsText({
    prefer_column_name_to_alias: 1,
    input_format_parquet_preserve_order: 1,
    // the engine reads gaps between its columns up to this size, and seeks over larger ones
    remote_read_min_bytes_for_seek: 256 * 1024,
  });
  const typed = await withJson(columns, from(location), fetchRows);
  return { ...tableOf(renamed(typed, reading, null)), from, settings };
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
  const logicalOf = new Map(metadata?.paths.map((path, index) => [path, metadata.logical[index] ?? '']));
  // the engine does not report columns without a name otherwise
  const unnamed = metadata?.paths.findIndex((path) => path === '' || path.startsWith('.')) ?? -1;
  if (unnamed !== -1 && chosen[''] !== null)
    throw new FileProblem(null, unnamedProblem(columnOf(metadata?.paths ?? [], unnamed), chosen));
  const described = await fetchRows<{ name: string; type: string }>(
    `DESCRIBE ${file('Parquet')} SETTINGS describe_compact_output = 1, input_format_parquet_enable_json_parsing = 0`,
  );
  const paths = [...logicalOf.keys()];
  return described.map(({ name, type }) => ({
    name,
    type,
    logical: logicalType(name, type, paths) ?? logicalOf.get(name) ?? '',
    mayBeNull:
      isGroup(type) && paths.some((path, leaf) => path.startsWith(`${name}.`) && metadata?.nulls[leaf] !== 0),
  }));
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

/** Types that the engine reports as others. */
function logicalType(name: string, type: string, paths: readonly string[]): 'RecordList' | null {
  if (!type.startsWith('Array') || type.startsWith('Array(Tuple')) return null;
  // the engine reads the only field of such records as the element (parquet-cells.ts)
  const isRecord = /^(?:array|.*_tuple)\../;
  return paths.some((path) => path.startsWith(`${name}.`) && isRecord.test(path.slice(name.length + 1)))
    ? 'RecordList'
    : null;
}

/** Finds columns of JSON texts: exports write arrays and objects as such. */
async function withJson(
  columns: readonly FileColumn[],
  from: string,
  fetchRows: FetchRows,
): Promise<readonly FileColumn[]> {
  const texts = columns.filter(({ type }) => type === 'TEXT');
  if (texts.length === 0) return columns;
  const sampled = texts.map(({ sql }, index) => `${sql} AS x${index}`);
  const masks = texts.map((_, index) => `groupBitAnd(${cellTypesSql(`x${index}`)})`);
  const [row] = await fetchRows<{ types: readonly number[] }>(
    `SELECT [${masks.join(', ')}] AS types FROM (SELECT ${sampled.join(', ')} FROM ${from} LIMIT ${sampledRows})`,
  );
  const types = new Map(texts.map((column, index) => [column, likeliestType(row?.types[index] ?? 0)]));
  return columns.map((column) => {
    const type = types.get(column);
    if (type !== 'ARRAY' && type !== 'OBJECT') return column;
    return jsonColumn(column.name, type, column.sql, `should be the JSON of an ${type}`);
  });
}

/** Whether a type of the engine is that of a list, map or struct. */
function isGroup(type: string): boolean {
  return /^(?:Array|Tuple|Map)\(/.test(type);
}

/** Converts a column as an import would. */
function parquetColumn({ name, type: engineType, logical }: DescribedColumn, nanIsNull: boolean): FileColumn {
  const sql = quoteIdentifier(name);
  const type = engineType.replace(/^(?:LowCardinality\(|Nullable\()+/, '');
  if (type.startsWith('Date32')) return { name, type: 'TEXT', ...dateValue(sql) };
  if (type.startsWith('Bool')) return { name, type: 'BOOLEAN', sql };
  if (/^U?Int(?:64|128|256)/.test(type))
    return { name, type: 'NUMBER', sql: `toFloat64(${sql})`, unfits: [longUnfit(sql)] };
  if (/^B?Float/.test(type)) return { name, type: 'NUMBER', ...floatValue(sql, nanIsNull) };
  if (/^(?:U?Int|Decimal)/.test(type)) return { name, type: 'NUMBER', sql: `toFloat64(${sql})` };
  if (logical === 'RecordList') {
    const reason = 'is a list of records with one field in the old form, which only imports read';
    return { name, type: 'ARRAY', sql: `toJSONString(${sql})`, unfits: [{ sql: '1', reason }] };
  }
  if (/^(?:Array|Tuple|Map)/.test(type)) {
    const value = nestedValue(engineType, sql, nanIsNull);
    const unfits = value.unfits.map(({ sql, reason }) => ({ sql, reason: `a value in it ${reason}` }));
    return {
      name,
      type: type.startsWith('Array') ? 'ARRAY' : 'OBJECT',
      sql: `toJSONString(${value.sql})`,
      unfits,
    };
  }
  if (/^(?:JSON|Object|Nested)/.test(type)) return { name, type: 'OBJECT', sql: `toJSONString(${sql})` };
  if (/^(?:Date|Time)/.test(type))
    return { name, type: 'TEXT', ...timeValue(`toDateTime64(${sql}, 3, 'UTC')`) };
  if (logical === 'Interval') return { name, type: 'TEXT', sql: intervalSql(sql) };
  if (type.startsWith('FixedString') || logical === 'Bson')
    return { name, type: 'TEXT', sql: `hex(${sql})`, unfits: [bytesUnfit(sql)] };
  if (!type.startsWith('String')) return { name, type: 'TEXT', sql: `toString(${sql})` };
  return { name, type: 'TEXT', sql, unfits: [textUnfit(sql)] };
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
  const numbered = `SELECT rowNumberInAllBlocks() AS row, multiIf(${reasons.join(', ')}, 0) AS unfit FROM ${table.from(location)}`;
  const [found] = await fetchRows<{ row: number; unfit: number }>(
    `SELECT toFloat64(row) AS row, unfit FROM (${numbered}) WHERE unfit > 0 ORDER BY row LIMIT 1 SETTINGS max_threads = 1, ${table.settings}`,
  );
  if (found === undefined) return null;
  return new FileProblem(found.row + 1, `${shownName(name)} ${unfits[found.unfit - 1]?.reason}`);
}
