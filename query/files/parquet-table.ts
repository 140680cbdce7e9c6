import { quoteIdentifier, settingsText, textLiteral } from '#engine/literal.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import { type FileReading, unnamedColumn } from '../imports/thread/file-records.ts';
import { lookSql, typeByLook } from './column-looks.ts';
import {
  compactJson,
  type FileColumn,
  type FileSource,
  type FileTable,
  isJsonSql,
  type Rows,
  sourceSql,
  tableOf,
} from './file-columns.ts';

/** Pages of a table in columns have to be read as a whole. */
const sampledRows = 1000;

interface DescribedColumn {
  readonly name: string;
  /** Of the engine. */
  readonly type: string;
  /** Of the file, as the engine names it. */
  readonly logical: string;
}

export async function parquetTable(
  source: FileSource,
  { nanIsNull = false }: FileReading,
  rows: Rows,
): Promise<FileTable> {
  const described = await describedColumns(source, rows);
  // else each statement would look for them again, from the beginning of the file
  const structure = described.map(({ name, type }) => `${quoteIdentifier(name)} ${type}`).join(', ');
  const from = (at: FileSource) => sourceSql(at, 'Parquet', structure, false);
  const columns = described.map((column) => parquetColumn(column, nanIsNull));
  const settings = settingsText({
    prefer_column_name_to_alias: 1,
    input_format_parquet_preserve_order: 1,
    // of other columns that lie between: more of them are not worth to be read
    remote_read_min_bytes_for_seek: 256 * 1024,
  });
  return { ...tableOf(await withJson(columns, from(source), rows)), from, settings };
}

async function describedColumns({ kind, at }: FileSource, rows: Rows): Promise<readonly DescribedColumn[]> {
  const file = (format: string): string => `${kind}(${textLiteral(at)}, '${format}')`;
  const [metadata] = await rows<{ paths: readonly string[]; logical: readonly string[] }>(
    `SELECT columns.path AS paths, columns.logical_type AS logical FROM ${file('ParquetMetadata')}`,
  );
  const logicalOf = new Map(metadata?.paths.map((path, index) => [path, metadata.logical[index] ?? '']));
  // of which the engine says nothing else
  const unnamed = metadata?.paths.findIndex((path) => path === '' || path.startsWith('.')) ?? -1;
  if (unnamed !== -1) throw new FileProblem(null, unnamedColumn(columnOf(metadata?.paths ?? [], unnamed)));
  const described = await rows<{ name: string; type: string }>(
    `DESCRIBE ${file('Parquet')} SETTINGS describe_compact_output = 1, input_format_parquet_enable_json_parsing = 0`,
  );
  const paths = [...logicalOf.keys()];
  return described.map(({ name, type }) => ({
    name,
    // the engine knows no day before 1900, and none after 2299
    type: type.replace(/^((?:Nullable\()?)Date32\b/, '$1Int32'),
    logical: logicalType(name, type, paths) ?? logicalOf.get(name) ?? '',
  }));
}

/** @param leaf the place of a path: a list or struct may have several */
function columnOf(paths: readonly string[], leaf: number): number {
  return new Set(paths.slice(0, leaf).map((path) => path.split('.')[0])).size;
}

/** What the engine takes for another type. */
function logicalType(name: string, type: string, paths: readonly string[]): 'Date' | 'RecordList' | null {
  if (/^(?:Nullable\()?Date32\b/.test(type)) return 'Date';
  if (!type.startsWith('Array') || type.startsWith('Array(Tuple')) return null;
  // it reads the only field of such records as the element (parquet-cells.ts)
  const isRecord = /^(?:array|.*_tuple)\../;
  return paths.some((path) => path.startsWith(`${name}.`) && isRecord.test(path.slice(name.length + 1)))
    ? 'RecordList'
    : null;
}

/** Exports write arrays and objects as texts of JSON. */
async function withJson(
  columns: readonly FileColumn[],
  from: string,
  rows: Rows,
): Promise<readonly FileColumn[]> {
  const texts = columns.filter(({ type }) => type === 'TEXT');
  if (texts.length === 0) return columns;
  const sampled = texts.map(({ sql }, index) => `${sql} AS x${index}`);
  const looks = texts.map((_, index) => `groupBitAnd(${lookSql(`x${index}`)})`);
  const [row] = await rows<{ looks: readonly number[] }>(
    `SELECT [${looks.join(', ')}] AS looks FROM (SELECT ${sampled.join(', ')} FROM ${from} LIMIT ${sampledRows})`,
  );
  const types = new Map(texts.map((column, index) => [column, typeByLook(row?.looks[index] ?? 0)]));
  return columns.map((column) => {
    const type = types.get(column);
    if (type !== 'ARRAY' && type !== 'OBJECT') return column;
    const { sql } = column;
    const unfit = `isNotNull(${sql}) AND NOT ${isJsonSql(`assumeNotNull(${sql})`, type)}`;
    const reason = `should be the JSON of an ${type}`;
    return { ...column, type, sql: compactJson(sql), unfit: { sql: unfit, reason } };
  });
}

/** The values that an import would make of a column. */
function parquetColumn({ name, type: engineType, logical }: DescribedColumn, nanIsNull: boolean): FileColumn {
  const sql = quoteIdentifier(name);
  const type = engineType.replace(/^(?:LowCardinality\(|Nullable\()+/, '');
  if (logical === 'Date') {
    const time = `toString(fromUnixTimestamp64Milli(toInt64(${sql}) * 86400000, 'UTC'))`;
    return { name, type: 'TEXT', sql: `concat(replaceOne(${time}, ' ', 'T'), 'Z')` };
  }
  if (type.startsWith('Bool')) return { name, type: 'BOOLEAN', sql };
  if (/^(?:U?Int|Float|BFloat|Decimal)/.test(type)) return numberColumn(name, type, nanIsNull);
  if (logical === 'RecordList') {
    const reason = 'is a list of records with one field in the old form, which only an import reads';
    return { name, type: 'ARRAY', sql: `toJSONString(${sql})`, unfit: { sql: '1', reason } };
  }
  if (type.startsWith('Array')) return { name, type: 'ARRAY', sql: `toJSONString(${sql})` };
  if (/^(?:Tuple|Map|JSON|Object|Nested)/.test(type))
    return { name, type: 'OBJECT', sql: `toJSONString(${sql})` };
  if (/^(?:Date|Time)/.test(type)) {
    const time = `toString(toDateTime64(${sql}, 3, 'UTC'))`;
    return { name, type: 'TEXT', sql: `concat(replaceOne(${time}, ' ', 'T'), 'Z')` };
  }
  if (logical === 'Interval') return { name, type: 'TEXT', sql: intervalSql(sql) };
  const bytes = { sql: `isNotNull(${sql})`, reason: 'is bytes, which no field holds' };
  if (type.startsWith('FixedString') || logical === 'Bson')
    return { name, type: 'TEXT', sql: `hex(${sql})`, unfit: bytes };
  if (!type.startsWith('String')) return { name, type: 'TEXT', sql: `toString(${sql})` };
  return { name, type: 'TEXT', sql, unfit: { sql: `NOT isValidUTF8(${sql})`, reason: 'is not valid UTF-8' } };
}

function numberColumn(name: string, type: string, nanIsNull: boolean): FileColumn {
  const sql = quoteIdentifier(name);
  const number = `toFloat64(${sql})`;
  if (/^U?Int(?:64|128|256)/.test(type)) {
    const unfit = `(${sql} > 9007199254740992 OR ${sql} < -9007199254740992) AND toInt256(${number}) != toInt256(${sql})`;
    return {
      name,
      type: 'NUMBER',
      sql: number,
      unfit: { sql: unfit, reason: 'has more digits than a NUMBER can hold' },
    };
  }
  if (!/^B?Float/.test(type)) return { name, type: 'NUMBER', sql: number };
  if (nanIsNull) return { name, type: 'NUMBER', sql: `if(isFinite(${number}), ${number}, NULL)` };
  const reason = 'is NaN or infinite, which no field holds; nan=null makes it null';
  return { name, type: 'NUMBER', sql: number, unfit: { sql: `NOT isFinite(${number})`, reason } };
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

/** The first row with an unfit value of a column. */
export async function unfitRow(
  table: FileTable,
  { name, unfit }: FileColumn,
  source: FileSource,
  rows: Rows,
): Promise<FileProblem | null> {
  if (unfit === undefined) return null;
  const numbered = `SELECT rowNumberInAllBlocks() AS row, ifNull(${unfit.sql}, 0) AS unfit FROM ${table.from(source)}`;
  const [found] = await rows<{ row: number }>(
    `SELECT toFloat64(row) AS row FROM (${numbered}) WHERE unfit ORDER BY row LIMIT 1 SETTINGS max_threads = 1, ${table.settings}`,
  );
  return new FileProblem(found === undefined ? null : found.row + 1, `${shownName(name)} ${unfit.reason}`);
}
