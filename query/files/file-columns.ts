import { quoteIdentifier, settingsText, textLiteral } from '#engine/literal.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { Field, FieldType } from '#records/structure/field.ts';
import { slotKinds } from '#records/structure/slots.ts';
import { createStructure, type Structure } from '#records/structure/structure.ts';
import { type CsvRecord, CsvRecords } from '../imports/formats/csv-records.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import type { FileFormat } from './file-format.ts';

/** A file as the engine reads it. */
export interface FileTable {
  readonly structure: Structure;
  /** The expressions of its columns, each under the name of its slot. */
  readonly columns: string;
  /** What the engine reads. @param source of this statement's own */
  readonly from: (source: FileSource) => string;
  /** Settings. */
  readonly settings: string;
}

/** Where the engine finds the bytes. */
export interface FileSource {
  readonly kind: 'file' | 'url';
  readonly at: string;
}

/** Runs a statement with a small result. */
type Rows = <Row>(sql: string) => Promise<readonly Row[]>;

interface Column {
  readonly name: string;
  readonly type: FieldType;
  readonly sql: string;
}

interface CsvHeader {
  readonly names: readonly string[];
  readonly delimiter: string;
  /** Lines before the first row. */
  readonly skipped: number;
}

const mostColumns = 2000;
/** Types of texts are those of their first rows. */
const sampledRows = 25_000;
/** Of a table in columns, whose pages have to be read as a whole. */
const sampledTableRows = 1000;
/** The lines that the header of CSV may take, and their characters. */
const headerLines = 10;
const longestHeader = 1_000_000;

/** Reads the columns of a file and their types. Throws a FileProblem, or the engine's error. */
export async function readFileTable(format: FileFormat, source: FileSource, rows: Rows): Promise<FileTable> {
  switch (format.name) {
    case 'CSV':
      return csvTable(format, source, rows);
    case 'NDJSON':
      return ndjsonTable(format, source, rows);
    case 'Parquet':
      return parquetTable(source, rows);
  }
}

function sourceSql({ kind, at }: FileSource, format: string, structure: string, isGzip: boolean): string {
  return `${kind}(${[at, format, structure, isGzip ? 'gzip' : 'none'].map(textLiteral).join(', ')})`;
}

/**
 * Cells are read as texts, and become values where a statement needs them: the engine's own reader of numbers refuses
 * quotes. No name of a column is in a statement.
 */
async function csvTable({ isGzip }: FileFormat, source: FileSource, rows: Rows): Promise<FileTable> {
  const { names, delimiter, skipped } = await csvHeader(isGzip, source, rows);
  const structure = names.map((_, index) => `c${index} Nullable(String)`).join(', ');
  const from = (at: FileSource) => sourceSql(at, 'CSV', structure, isGzip);
  const settings = settingsText({
    input_format_csv_skip_first_lines: skipped,
    format_csv_delimiter: delimiter,
    // blanks around cells without quotes are dropped: to keep them takes three fifths more time (decision 066)
    input_format_csv_allow_whitespace_or_tab_as_delimiter: delimiter === '\t' ? 1 : 0,
    format_csv_null_representation: '',
    input_format_csv_empty_as_default: 1,
    input_format_csv_skip_trailing_empty_lines: 1,
  });
  const looks = names.map((_, index) => `groupBitAnd(${lookSql(`c${index}`)})`);
  const sample = `SELECT * FROM ${from(source)} LIMIT ${sampledRows}`;
  const [found] = await rows<{ looks: readonly number[] }>(
    `SELECT [${looks.join(', ')}] AS looks FROM (${sample}) SETTINGS ${settings}`,
  );
  const columns = names.map((name, index): Column => {
    const type = typeByLook(found?.looks[index] ?? 0);
    return { name, type, sql: cellSql(type, `c${index}`) };
  });
  return { ...tableOf(columns), from, settings };
}

async function csvHeader(isGzip: boolean, source: FileSource, rows: Rows): Promise<CsvHeader> {
  const from = sourceSql(source, 'LineAsString', 'line String', isGzip);
  const line = `substring(line, 1, ${longestHeader + 1}) AS line`;
  const found = await rows<{ line: string }>(`SELECT ${line} FROM ${from} LIMIT ${headerLines}`);
  const lines = found.map((row) => row.line.replace(/\r$/, ''));
  if (lines.length === 1 && lines[0]?.includes('\r'))
    throw new FileProblem(null, 'its lines end with CR alone, which is read by an import only');
  const reader = new CsvRecords({ delimiter: null, largest: longestHeader });
  const { value: header }: IteratorResult<CsvRecord, void> = reader
    .read(`${lines.join('\n')}\n`.replace(/^\ufeff/, ''), true)
    .next();
  if (!header) throw new FileProblem(null, 'it is empty');
  const names = header.cells.map((cell) => cell ?? '');
  assertFew(names);
  const skipped = header.line + names.join('').split('\n').length - 1;
  return { names, delimiter: reader.delimiter ?? ',', skipped };
}

/** Bits of the types that a cell may be of, as an import would say. */
const bits = { NUMBER: 1, BOOLEAN: 2, ARRAY: 4, OBJECT: 8 } as const;
const any = 15;

function lookSql(cell: string): string {
  const text = `assumeNotNull(${cell})`;
  // an integer that a double rounds is text
  const exact = `toString(toInt256OrZero(${text})) = toString(toInt256(toFloat64OrZero(substring(${text}, 1, 39))))`;
  const number = `match(${text}, '^-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?$') AND
    (NOT match(${text}, '^-?[0-9]{16,}$') OR ${exact})`;
  return `multiIf(ifNull(${cell}, '') = '', ${any}, ${number}, ${bits.NUMBER}, lower(${text}) IN ('true', 'false'), ${bits.BOOLEAN},
    startsWith(${text}, '[') AND isValidJSON(${text}), ${bits.ARRAY}, startsWith(${text}, '{') AND isValidJSON(${text}), ${bits.OBJECT}, 0)`;
}

/** Of several types, and without values, it is text. */
function typeByLook(look: number): FieldType {
  const types = Object.keys(bits) as (keyof typeof bits)[];
  return types.find((type) => bits[type] === look) ?? 'TEXT';
}

function cellSql(type: FieldType, cell: string): string {
  const given = (sql: string): string => `if(ifNull(${cell}, '') = '', NULL, ${sql})`;
  const text = `assumeNotNull(${cell})`;
  if (type === 'NUMBER') return finite(given(`toFloat64(${text})`));
  if (type === 'BOOLEAN') return given(`CAST(lower(${text}), 'Bool')`);
  return type === 'TEXT' ? cell : compactJson(cell);
}

async function ndjsonTable({ isGzip }: FileFormat, source: FileSource, rows: Rows): Promise<FileTable> {
  const lines = sourceSql(source, 'JSONAsString', 'json String', isGzip);
  const look = `multiIf(kind = 'n', ${any}, kind IN ('t', 'f'), ${bits.BOOLEAN}, kind = '[', ${bits.ARRAY}, kind = '{', ${bits.OBJECT},
    kind = '"', 0, ${bits.NUMBER})`;
  const numbered = `SELECT json, rowNumberInAllBlocks() AS row FROM ${lines} LIMIT ${sampledRows}`;
  const pairs = `SELECT arrayJoin(arrayZip(JSONExtractKeysAndValuesRaw(json) AS all, arrayEnumerate(all))) AS pair, row,
    substring(pair.1.2, 1, 1) AS kind FROM (${numbered})`;
  const found = await rows<{ name: string; look: number }>(
    `SELECT pair.1.1 AS name, groupBitAnd(toUInt8(${look})) AS look FROM (${pairs}) GROUP BY name
    ORDER BY min((row, pair.2)) LIMIT ${mostColumns + 1}`,
  );
  const given = found.map(({ name, look }) => ({ name: quoteIdentifier(name), type: typeByLook(look) }));
  const engineTypes: Partial<Record<FieldType, string>> = { NUMBER: 'Float64', BOOLEAN: 'Bool' };
  const structure = given
    .map(({ name, type }) => `${name} Nullable(${engineTypes[type] ?? 'String'})`)
    .join(', ');
  const columns = given.map(({ name: sql, type }, index): Column => {
    const { name } = found[index] as { readonly name: string };
    if (type === 'NUMBER') return { name, type, sql: finite(sql) };
    return { name, type, sql: type === 'ARRAY' || type === 'OBJECT' ? compactJson(sql) : sql };
  });
  const settings = settingsText({
    prefer_column_name_to_alias: 1,
    input_format_json_read_arrays_as_strings: 1,
    input_format_json_read_objects_as_strings: 1,
  });
  const from = (at: FileSource) => sourceSql(at, 'JSONEachRow', structure, isGzip);
  return { ...tableOf(columns), from, settings };
}

async function parquetTable(source: FileSource, rows: Rows): Promise<FileTable> {
  const { kind, at } = source;
  const described = await rows<{ name: string; type: string }>(
    `DESCRIBE ${kind}(${textLiteral(at)}, 'Parquet') SETTINGS describe_compact_output = 1`,
  );
  // else each statement would look for them again, from the beginning of the file
  const structure = described.map(({ name, type }) => `${quoteIdentifier(name)} ${type}`).join(', ');
  const from = (at: FileSource) => sourceSql(at, 'Parquet', structure, false);
  const columns = described.map(({ name, type }) => ({
    name,
    ...parquetColumn(quoteIdentifier(name), type),
  }));
  const settings = settingsText({
    prefer_column_name_to_alias: 1,
    input_format_parquet_preserve_order: 1,
    // of other columns that lie between: more of them are not worth to be read
    remote_read_min_bytes_for_seek: 256 * 1024,
  });
  return { ...tableOf(await withJson(columns, from(source), rows)), from, settings };
}

/** Exports write arrays and objects as texts of JSON. */
async function withJson(columns: readonly Column[], from: string, rows: Rows): Promise<readonly Column[]> {
  const texts = columns.filter(({ type }) => type === 'TEXT');
  if (texts.length === 0) return columns;
  const sampled = texts.map(({ sql }, index) => `${sql} AS x${index}`);
  const looks = texts.map((_, index) => `groupBitAnd(${lookSql(`x${index}`)})`);
  const [row] = await rows<{ looks: readonly number[] }>(
    `SELECT [${looks.join(', ')}] AS looks FROM (SELECT ${sampled.join(', ')} FROM ${from} LIMIT ${sampledTableRows})`,
  );
  const types = new Map(texts.map((column, index) => [column, typeByLook(row?.looks[index] ?? 0)]));
  return columns.map((column) => {
    const type = types.get(column);
    return type === 'ARRAY' || type === 'OBJECT' ? { ...column, type, sql: compactJson(column.sql) } : column;
  });
}

/** The values that an import would make of a column. */
function parquetColumn(sql: string, engineType: string): Omit<Column, 'name'> {
  const type = engineType.replace(/^(?:LowCardinality\(|Nullable\()+/, '');
  if (type.startsWith('Bool')) return { type: 'BOOLEAN', sql };
  if (/^(?:U?Int|Float|BFloat|Decimal)/.test(type))
    return { type: 'NUMBER', sql: finite(`toFloat64(${sql})`) };
  if (type.startsWith('Array')) return { type: 'ARRAY', sql: `toJSONString(${sql})` };
  if (/^(?:Tuple|Map|JSON|Object|Nested)/.test(type)) return { type: 'OBJECT', sql: `toJSONString(${sql})` };
  if (/^(?:Date|Time)/.test(type)) {
    const time = `toString(toDateTime64(${sql}, 3, 'UTC'))`;
    return { type: 'TEXT', sql: `concat(replaceOne(${time}, ' ', 'T'), 'Z')` };
  }
  return { type: 'TEXT', sql: type.startsWith('String') ? sql : `toString(${sql})` };
}

/** JSON has none but finite numbers. */
function finite(number: string): string {
  return `if(isFinite(${number}), ${number}, NULL)`;
}

/** JSON text as the engine writes it; NULL where it is no JSON. */
function compactJson(text: string): string {
  return `nullIf(JSONExtractRaw(ifNull(${text}, '')), '')`;
}

function assertFew(columns: readonly unknown[]): void {
  if (columns.length > mostColumns)
    throw new FileProblem(null, `it has more than ${mostColumns.toLocaleString('en')} columns`);
}

function tableOf(columns: readonly Column[]): Pick<FileTable, 'structure' | 'columns'> {
  if (columns.length === 0) throw new FileProblem(null, 'it has no columns');
  assertFew(columns);
  const seen = new Set<string>();
  const fields = columns.map(({ name, type }, index): Field => {
    if (name === '') throw new FileProblem(null, `its column ${index + 1} has no name`);
    if (seen.has(name)) throw new FileProblem(null, `it has two columns ${shownName(name)}`);
    seen.add(name);
    const slot = `${slotKinds[type]}${index}`;
    return {
      ...{ name, slug: name, type, slot, description: '', comment: '', defaultValue: null },
      ...{ required: false, unique: false, hashed: false, keyed: false },
    };
  });
  const none = { name: null, description: null, projectSlug: '', slug: '', clear: false, webhooks: null };
  return {
    structure: { ...createStructure({ ...none, fields }), ofFile: true },
    columns: columns.map(({ sql }, index) => `${sql} AS ${fields[index]?.slot}`).join(', '),
  };
}
