import { CsvRecords } from './csv-records.ts';
import { FileProblem } from './file-problem.ts';
import { readText, type TextPiece } from './file-text.ts';
import { jsonRecords } from './json-records.ts';
import type { SourcePiece } from './source-record.ts';

export const importFormats = ['csv', 'ndjson', 'json', 'parquet', 'arrow'] as const;
export type ImportFormat = (typeof importFormats)[number];

/** How to read a file. */
export interface SourceReading {
  readonly format: ImportFormat;
  /** CSV: null: guess it from the first lines. */
  readonly delimiter: string | null;
  /** CSV: whether the first line names the columns. */
  readonly hasHeader: boolean;
  /** Characters that a record may have. */
  readonly largest: number;
  /** CSV: unquoted words that mean null, as an empty cell does. */
  readonly nulls?: readonly string[];
  /** Fields of columns by name; a column with null is not read. */
  readonly columns?: Readonly<Record<string, string | null>>;
}

/** Whether the columns of a format have types, so that numbers are not texts. */
export function isTable({ format }: Pick<SourceReading, 'format'>): boolean {
  return format === 'parquet' || format === 'arrow';
}

/** Whether a column is left out: it is not read. */
export function isLeftOut(column: string, { columns = {} }: Pick<SourceReading, 'columns'>): boolean {
  return Object.hasOwn(columns, column) && columns[column] === null;
}

/**
 * Reads the records of a file, piece by piece. The last piece may have none.
 * @param mostBytes of its decompressed text
 * @throws a FileProblem when the rest of the file can not be read
 */
export async function* sourcePieces(
  path: string,
  reading: SourceReading,
  mostBytes: number,
): AsyncGenerator<SourcePiece> {
  const leavesOut = (column: string): boolean => isLeftOut(column, reading);
  switch (reading.format) {
    // the readers of tables are only loaded when needed
    case 'parquet':
      return yield* bounded((await import('./parquet-rows.ts')).parquetPieces(path, leavesOut), mostBytes);
    case 'arrow':
      return yield* bounded((await import('./arrow-rows.ts')).arrowPieces(path, leavesOut), mostBytes);
    default:
      return yield* textPieces(readText(path, mostBytes), reading);
  }
}

/** Reads the records of a text, piece by piece. */
export async function* textPieces(
  texts: AsyncIterable<TextPiece>,
  reading: SourceReading,
): AsyncGenerator<SourcePiece> {
  const { format } = reading;
  if (format === 'csv') return yield* csvPieces(texts, reading);
  if (format !== 'json' && format !== 'ndjson') throw new TypeError(`${format} is not a text format`);
  const json = jsonRecords(format, reading);
  for await (const { text, isLast, bytesRead } of texts)
    yield { columns: null, records: json.read(text, isLast), bytesRead, isLast };
}

async function* csvPieces(
  texts: AsyncIterable<TextPiece>,
  reading: SourceReading,
): AsyncGenerator<SourcePiece> {
  const csv = new CsvRecords(reading);
  const nulls = new Set(reading.nulls);
  let columns: readonly string[] | null = null;
  for await (const { text, isLast, bytesRead } of texts) {
    const records = csv.read(text, isLast);
    if (reading.hasHeader && columns === null) {
      const first = records.next();
      if (first.done === true) continue;
      columns = first.value.cells.map((cell) => cell?.trim() ?? '');
    }
    csv.nulls = nulls;
    yield { columns, records, bytesRead, isLast };
  }
  if (reading.hasHeader && columns === null) throw new FileProblem(null, 'the file is empty');
}

/** Limits the characters of a table: a file may store a text once, and use it in a million rows. */
async function* bounded(
  pieces: AsyncIterable<SourcePiece>,
  mostCharacters: number,
): AsyncGenerator<SourcePiece> {
  let characters = 0;
  for await (const piece of pieces) {
    for (const { cells = [] } of piece.records)
      for (const cell of cells) if (typeof cell === 'string') characters += cell.length;
    if (characters > mostCharacters)
      throw new FileProblem(null, `its texts have more than ${mostCharacters} characters`);
    yield piece;
  }
}
