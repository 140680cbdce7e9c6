import { settingsText } from '#engine/literal.ts';
import type { FieldType } from '#records/types/field-types.ts';
import { fileTypes } from '#records/types/file-types.ts';
import { type CsvRecord, CsvRecords, delimiterLine } from '../imports/formats/csv-records.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import { decodeText, type FileBytes } from '../imports/formats/file-text.ts';
import { type FileReading, namedTwice, unnamedColumn } from '../imports/thread/file-records.ts';
import type { LocalTimes } from '../imports/thread/local-times.ts';
import { cellTextSql, isBooleanSql, numberTextSql, unfitNumberSql } from './cell-types.ts';
import {
  assertFew,
  type FileColumn,
  type FileLocation,
  type FileTable,
  jsonColumn,
  renamed,
  tableFunctionSql,
  tableOf,
  wrongType,
} from './file-columns.ts';
import { timeColumnSql, withZoneSql } from './file-times-sql.ts';
import type { TableShape } from './table-shape.ts';

/** The first line of CSV. */
export interface CsvHeader {
  readonly names: readonly string[];
  readonly delimiter: string;
  /** Lines before the first row. */
  readonly skipped: number;
  /** Bytes before the header: a byte order mark, and a line that names the delimiter. */
  readonly prefixBytes: number;
}

/** Characters that the header of CSV may take. */
const longestHeader = 1_000_000;

export async function readCsvHeader(file: FileBytes, reading: FileReading): Promise<CsvHeader> {
  const { delimiter } = reading;
  const records = new CsvRecords({ delimiter, largest: longestHeader });
  let start: string | null = null;
  for await (const { text, isLast } of decodeText(file, Number.MAX_SAFE_INTEGER)) {
    start ??= text;
    const { value: header }: IteratorResult<CsvRecord, void> = records.read(text, isLast).next();
    if (!header) continue;
    if (!start.includes('\n') && start.includes('\r'))
      throw new FileProblem(null, 'its lines end with CR, which only imports read');
    const names = header.cells.map((cell) => cell?.trim() ?? '');
    assertFew(names);
    assertNames(names, reading);
    const [prefix = ''] = delimiter === null ? (delimiterLine.exec(start) ?? []) : [];
    const skipped = header.line + header.cells.join('').split('\n').length - 1;
    return { names, delimiter: records.delimiter ?? ',', skipped, prefixBytes: Buffer.byteLength(prefix) };
  }
  throw new FileProblem(null, 'the file is empty');
}

function assertNames(names: readonly string[], { columns }: FileReading): void {
  const seen = new Set<string>();
  for (const [index, name] of names.entries()) {
    if (name === '' && !Object.hasOwn(columns, '')) throw new FileProblem(1, unnamedColumn(index));
    if (seen.has(name)) throw new FileProblem(1, namedTwice(name, 1));
    seen.add(name);
  }
}

/**
 * The engine reads cells as texts, and statements convert them: its own reader of numbers refuses quotes. Column names
 * never become part of a statement.
 */
export function csvTable(
  { names, delimiter, skipped }: CsvHeader,
  { columns: found, zone }: TableShape,
  isGzip: boolean,
  reading: FileReading,
): FileTable {
  const structure = names.map((_, index) => `c${index} Nullable(String)`).join(', ');
  const all = (location: FileLocation) => tableFunctionSql(location, 'CSV', structure, isGzip);
  // a blank line is not a row
  const from = (location: FileLocation) =>
    names.length === 1 ? `(SELECT c0 FROM ${all(location)} WHERE c0 IS NOT NULL)` : all(location);
  const settings = settingsText({
    input_format_csv_skip_first_lines: skipped,
    format_csv_delimiter: delimiter,
    input_format_csv_allow_whitespace_or_tab_as_delimiter: delimiter === '\t' ? 1 : 0,
    format_csv_null_representation: '',
    input_format_csv_empty_as_default: 1,
    input_format_csv_skip_trailing_empty_lines: 1,
  });
  const columns = found.map(({ name, type }) =>
    csvColumn(name, type, cellTextSql(`c${names.indexOf(name)}`, reading), { reading, zone }),
  );
  return { ...tableOf(renamed(columns, reading, 1)), with: withZoneSql(zone), from, settings };
}

/** To the engine a blank line is a row with an error. Other errors are found first (csv-check.ts). */
export const passesBlankLines = 'input_format_allow_errors_num = 1000000000';

/** Blanks around cells without quotes: to keep them takes the engine 60 % more time (decision 066). */
export const keepsBlanks = 'input_format_csv_trim_whitespaces = 0';

function csvColumn(
  name: string,
  type: FieldType,
  cell: string,
  { reading, zone }: { readonly reading: FileReading; readonly zone: LocalTimes | null },
): FileColumn {
  const text = `assumeNotNull(${cell})`;
  const isEmpty = `ifNull(${cell}, '') = ''`;
  const column = (sql: string, isUnfit: string): FileColumn => ({
    name,
    type,
    sql: `if(${isEmpty}, NULL, ${sql})`,
    unfits: [{ sql: isUnfit, reason: wrongType }],
  });
  switch (type) {
    case fileTypes.double.type:
      return column(`toFloat64(${numberTextSql(text, reading)})`, unfitNumberSql(cell, reading));
    case fileTypes.boolean.type: {
      const isTrue = isBooleanSql(text, reading, true);
      const isOther = `NOT (${isTrue}) AND NOT (${isBooleanSql(text, reading, false)})`;
      return column(`CAST(${isTrue}, 'Bool')`, `NOT (${isEmpty}) AND ${isOther}`);
    }
    case fileTypes.list.type:
    case fileTypes.struct.type:
      return jsonColumn(name, type, `nullIf(${cell}, '')`, wrongType);
    case fileTypes.day.type:
    case fileTypes.time.type: {
      const { sql, isFit } = timeColumnSql(type, text, zone);
      return column(sql, `NOT (${isEmpty}) AND NOT (${isFit})`);
    }
    default:
      return { name, type, sql: cell };
  }
}
