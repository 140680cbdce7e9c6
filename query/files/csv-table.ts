import { settingsText } from '#engine/literal.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { FieldType } from '#records/structure/field.ts';
import { type CsvRecord, CsvRecords } from '../imports/formats/csv-records.ts';
import { FileProblem } from '../imports/formats/file-problem.ts';
import { decodeText, type FileBytes } from '../imports/formats/file-text.ts';
import { type FileReading, unnamedColumn } from '../imports/thread/file-records.ts';
import {
  cellTextSql,
  isBooleanSql,
  isRoundedSql,
  lookSql,
  numberTextSql,
  typeByLook,
} from './column-looks.ts';
import {
  assertFew,
  compactJson,
  type FileColumn,
  type FileSource,
  type FileTable,
  isJsonSql,
  type Rows,
  sampledRows,
  sourceSql,
  tableOf,
} from './file-columns.ts';

/** The first line of CSV. */
export interface CsvHeader {
  readonly names: readonly string[];
  readonly delimiter: string;
  /** Lines before the first row. */
  readonly skipped: number;
  /** Bytes before the header: a byte order mark, and a line that says the delimiter. */
  readonly prefixBytes: number;
}

/** Characters that the header of CSV may take. */
const longestHeader = 1_000_000;

export async function readCsvHeader(file: FileBytes, { delimiter }: FileReading): Promise<CsvHeader> {
  const records = new CsvRecords({ delimiter, largest: longestHeader });
  let start: string | null = null;
  for await (const { text, isLast } of decodeText(file, Number.MAX_SAFE_INTEGER)) {
    start ??= text;
    const { value: header }: IteratorResult<CsvRecord, void> = records.read(text, isLast).next();
    if (!header) continue;
    if (!start.includes('\n') && start.includes('\r'))
      throw new FileProblem(null, 'its lines end with CR alone, which is read by an import only');
    const names = header.cells.map((cell) => cell?.trim() ?? '');
    assertFew(names);
    assertNames(names);
    const [said = ''] = delimiter === null ? (/^sep=[^"\r\n](?:\r\n|\r|\n)/.exec(start) ?? []) : [];
    const skipped = header.line + header.cells.join('').split('\n').length - 1;
    return { names, delimiter: records.delimiter ?? ',', skipped, prefixBytes: Buffer.byteLength(said) };
  }
  throw new FileProblem(null, 'the file is empty');
}

function assertNames(names: readonly string[]): void {
  const seen = new Set<string>();
  for (const [index, name] of names.entries()) {
    if (name === '') throw new FileProblem(1, unnamedColumn(index));
    if (seen.has(name)) throw new FileProblem(1, `its first line names ${shownName(name)} twice`);
    seen.add(name);
  }
}

/**
 * Cells are read as texts, and become values where a statement needs them: the engine's own reader of numbers refuses
 * quotes. No name of a column is in a statement.
 */
export async function csvTable(
  { names, delimiter, skipped }: CsvHeader,
  isGzip: boolean,
  reading: FileReading,
  source: FileSource,
  rows: Rows,
): Promise<FileTable> {
  const structure = names.map((_, index) => `c${index} Nullable(String)`).join(', ');
  const all = (at: FileSource) => sourceSql(at, 'CSV', structure, isGzip);
  // a blank line is no row
  const from = (at: FileSource) =>
    names.length === 1 ? `(SELECT c0 FROM ${all(at)} WHERE c0 IS NOT NULL)` : all(at);
  const settings = settingsText({
    input_format_csv_skip_first_lines: skipped,
    format_csv_delimiter: delimiter,
    // blanks around cells without quotes are dropped: to keep them takes three fifths more time (decision 066)
    input_format_csv_allow_whitespace_or_tab_as_delimiter: delimiter === '\t' ? 1 : 0,
    format_csv_null_representation: '',
    input_format_csv_empty_as_default: 1,
    input_format_csv_skip_trailing_empty_lines: 1,
  });
  const cells = names.map((_, index) => cellTextSql(`c${index}`, reading));
  const looks = cells.map((cell) => `groupBitAnd(${lookSql(cell, reading)})`);
  const sample = `SELECT * FROM ${from(source)} LIMIT ${sampledRows}`;
  const [found] = await rows<{ looks: readonly number[] }>(
    `SELECT [${looks.join(', ')}] AS looks FROM (${sample}) SETTINGS ${settings}, ${passesBlankLines}`,
  );
  const columns = names.map((name, index) =>
    csvColumn(name, typeByLook(found?.looks[index] ?? 0), cells[index] as string, reading),
  );
  return { ...tableOf(columns), from, settings };
}

/** To the engine a blank line is a row with an error. Others are found before (csv-check.ts). */
export const passesBlankLines = 'input_format_allow_errors_num = 1000000000';

function csvColumn(name: string, type: FieldType, cell: string, reading: FileReading): FileColumn {
  const text = `assumeNotNull(${cell})`;
  const isEmpty = `ifNull(${cell}, '') = ''`;
  // which line it is, and why, an import's reader says
  const reason = 'is not of its type';
  const valued = (sql: string): string => `if(${isEmpty}, NULL, ${sql})`;
  switch (type) {
    case 'NUMBER': {
      const unfit = `NOT isFinite(toFloat64OrZero(${numberTextSql(cell, reading)})) OR ${isRoundedSql(cell)}`;
      const sql = valued(`toFloat64(${numberTextSql(text, reading)})`);
      return { name, type, sql, unfit: { sql: unfit, reason } };
    }
    case 'BOOLEAN': {
      const isTrue = isBooleanSql(text, reading, true);
      const unfit = `NOT (${isEmpty}) AND NOT (${isTrue}) AND NOT (${isBooleanSql(text, reading, false)})`;
      return { name, type, sql: valued(`CAST(${isTrue}, 'Bool')`), unfit: { sql: unfit, reason } };
    }
    case 'ARRAY':
    case 'OBJECT': {
      const unfit = `NOT (${isEmpty}) AND NOT ${isJsonSql(text, type)}`;
      return { name, type, sql: compactJson(cell), unfit: { sql: unfit, reason } };
    }
    default:
      return { name, type, sql: cell };
  }
}
