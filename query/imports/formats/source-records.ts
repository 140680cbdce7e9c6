import { CsvRecords } from './csv-records.ts';
import { FileProblem } from './file-problem.ts';
import { type TextPiece, textOf } from './file-text.ts';
import { jsonRecords } from './json-records.ts';
import type { SourcePiece } from './source-record.ts';

export const importFormats = ['csv', 'ndjson', 'json', 'parquet', 'arrow'] as const;
export type ImportFormat = (typeof importFormats)[number];

/** How a file is to be read. */
export interface SourceReading {
  readonly format: ImportFormat;
  /** Of CSV; null: the likeliest one of its first lines. */
  readonly delimiter: string | null;
  /** Of CSV: its first line names columns. */
  readonly hasHeader: boolean;
  /** Characters of one record. */
  readonly largest: number;
  /** Of CSV: cells without quotes that are null, as an empty one is. */
  readonly nulls?: readonly string[];
  /** Columns that are not read are null. */
  readonly columns?: Readonly<Record<string, string | null>>;
}

/** Whether a format has cells of a type: a NUMBER is no text in them. */
export function isTable({ format }: Pick<SourceReading, 'format'>): boolean {
  return format === 'parquet' || format === 'arrow';
}

/**
 * The records of a file, piece by piece. The last piece may have none.
 * @param mostBytes of its text, when it is not compressed any more
 * @throws a FileProblem where nothing behind can be read
 */
export async function* sourcePieces(
  path: string,
  reading: SourceReading,
  mostBytes: number,
): AsyncGenerator<SourcePiece> {
  const { format, columns = {} } = reading;
  const isLeftOut = (column: string): boolean => Object.hasOwn(columns, column) && columns[column] === null;
  switch (format) {
    // their readers are loaded where one is needed
    case 'parquet':
      return yield* bounded((await import('./parquet-rows.ts')).parquetPieces(path, isLeftOut), mostBytes);
    case 'arrow':
      return yield* bounded((await import('./arrow-rows.ts')).arrowPieces(path, isLeftOut), mostBytes);
    default:
      return yield* textPieces(textOf(path, mostBytes), reading);
  }
}

/** The records of a text, as `sourcePieces` has them. */
export async function* textPieces(
  texts: AsyncIterable<TextPiece>,
  reading: SourceReading,
): AsyncGenerator<SourcePiece> {
  const { format } = reading;
  if (format === 'csv') return yield* csvPieces(texts, reading);
  if (format !== 'json' && format !== 'ndjson') throw new TypeError(`${format} is no text`);
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

/** A table says little of how large its texts are: one that is there a million times is stored once. */
async function* bounded(pieces: AsyncIterable<SourcePiece>, most: number): AsyncGenerator<SourcePiece> {
  let characters = 0;
  for await (const piece of pieces) {
    for (const { cells = [] } of piece.records)
      for (const cell of cells) if (typeof cell === 'string') characters += cell.length;
    if (characters > most) throw new FileProblem(null, `its texts have more than ${most} characters`);
    yield piece;
  }
}
