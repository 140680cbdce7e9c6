import { settingsText } from '#engine/literal.ts';
import type { FieldType } from '#records/types/field-types.ts';
import { type CsvRecord, CsvRecords, delimiterLine } from '../imports/formats/csv-records.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import { decodeText, type FileBytes } from '../imports/formats/file-text.ts';
import { isLeftOut } from '../imports/formats/source-records.ts';
import { type FileReading, namedTwice, unnamedColumn } from '../imports/thread/file-records.ts';
import {
  cellTextSql,
  cellTypesSql,
  isBooleanSql,
  likeliestType,
  numberTextSql,
  unfitNumberSql,
} from './cell-types.ts';
import {
  assertFew,
  type FetchRows,
  type FileColumn,
  type FileLocation,
  type FileTable,
  jsonColumn,
  renamed,
  sampledRows,
  tableFunctionSql,
  tableOf,
  wrongType,
} from './file-columns.ts';

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
export async function csvTable(
  { names, delimiter, skipped }: CsvHeader,
  isGzip: boolean,
  reading: FileReading,
  location: FileLocation,
  fetchRows: FetchRows,
): Promise<FileTable> {
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
  const read = names
    .map((name, index) => ({ name, cell: cellTextSql(`c${index}`, reading) }))
    .filter(({ name }) => !isLeftOut(name, reading));
  const types = read.map(({ cell }) => `groupBitAnd(${cellTypesSql(cell, reading)})`);
  const sample = `SELECT * FROM ${from(location)} LIMIT ${sampledRows}`;
  const [row] = await fetchRows<{ types: readonly number[] }>(
    `SELECT [${types.join(', ')}] AS types FROM (${sample}) SETTINGS ${settings}, ${passesBlankLines}, ${keepsBlanks}`,
  );
  const columns = read.map(({ name, cell }, index) =>
    csvColumn(name, likeliestType(row?.types[index] ?? 0), cell, reading),
  );
  return { ...tableOf(renamed(columns, reading, 1)), from, settings };
}

/** To the engine a blank line is a row with an error. Other errors are found first (csv-check.ts). */
export const passesBlankLines = 'input_format_allow_errors_num = 1000000000';

/** Blanks around cells without quotes: to keep them takes the engine 60 % more time (decision 066). */
export const keepsBlanks = 'input_format_csv_trim_whitespaces = 0';

function csvColumn(name: string, type: FieldType, cell: string, reading: FileReading): FileColumn {
  const text = `assumeNotNull(${cell})`;
  const isEmpty = `ifNull(${cell}, '') = ''`;
  const valued = (sql: string): string => `if(${isEmpty}, NULL, ${sql})`;
  switch (type) {
    case 'NUMBER': {
      const sql = valued(`toFloat64(${numberTextSql(text, reading)})`);
      return { name, type, sql, unfits: [{ sql: unfitNumberSql(cell, reading), reason: wrongType }] };
    }
    case 'BOOLEAN': {
      const isTrue = isBooleanSql(text, reading, true);
      const unfit = `NOT (${isEmpty}) AND NOT (${isTrue}) AND NOT (${isBooleanSql(text, reading, false)})`;
      return {
        name,
        type,
        sql: valued(`CAST(${isTrue}, 'Bool')`),
        unfits: [{ sql: unfit, reason: wrongType }],
      };
    }
    case 'ARRAY':
    case 'OBJECT':
      return jsonColumn(name, type, `nullIf(${cell}, '')`, wrongType);
    default:
      return { name, type, sql: cell };
  }
}
