import { parseExactly } from '../../../common/http/rounded-integer.ts';
import { CsvReader, sniffDelimiter } from './csv-reader.ts';
import type { SourceRow } from './import-rows.ts';
import { JsonRecordsReader } from './json-records-reader.ts';
import { jsonProblem } from './record-form.ts';

export type ImportFormat =
  | { readonly kind: 'json' }
  | { readonly kind: 'csv'; readonly delimiter: string; readonly headRows: number };

/** How workbooks begin: those of today are ZIP archives, older ones compound files. */
const workbooks = [
  [0x50, 0x4b, 0x03, 0x04],
  [0xd0, 0xcf, 0x11, 0xe0],
];

/** The text of a file in pieces, and how many bytes have been read. */
export async function* filePieces(
  file: Blob,
): AsyncGenerator<{ readonly text: string; readonly read: number }> {
  const reader = file.stream().getReader();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (bytes: Uint8Array | undefined): string => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined });
    } catch (cause) {
      throw new Error('The file is not UTF-8 text. Save it as UTF-8, then import it again.', { cause });
    }
  };
  try {
    let read = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (read === 0 && workbooks.some((start) => start.every((byte, at) => value[at] === byte))) {
        throw new Error(
          'This is a spreadsheet’s own format. Save it there as “CSV UTF-8”, then import that file.',
        );
      }
      read += value.byteLength;
      yield { text: decode(value), read };
    }
    yield { text: decode(undefined), read };
  } finally {
    await reader.cancel();
  }
}

export type Pieces = AsyncIterable<{ readonly text: string; readonly read: number }>;

/** Of CSV the row that names the columns is skipped, and the lines before it. */
export async function* sourceRows(
  pieces: Pieces,
  format: ImportFormat,
  progress: (read: number) => void = () => undefined,
): AsyncGenerator<SourceRow> {
  const parser = format.kind === 'json' ? new JsonRecordsReader() : new CsvReader(format);
  let headRows = format.kind === 'csv' ? format.headRows : 0;
  const rows = function* (found: ReturnType<typeof parser.feed>): Generator<SourceRow> {
    for (const row of found) {
      if (headRows > 0) headRows--;
      else yield 'text' in row ? parsed(row) : row;
    }
  };
  for await (const { text, read } of pieces) {
    yield* rows(parser.feed(text));
    progress(read);
  }
  yield* rows(parser.end());
}

function parsed({ line, text }: { readonly line: number; readonly text: string }): SourceRow {
  try {
    return { line, record: parseExactly(text) };
  } catch (error) {
    return { line, problem: jsonProblem(error) };
  }
}

export interface ImportPreview {
  readonly format: ImportFormat;
  /** Columns of CSV, or the keys of the first records. */
  readonly columns: readonly string[];
  readonly rows: readonly SourceRow[];
}

const previewRows = 100;
const previewCharacters = 1_000_000;

/** The beginning of a file; more is read if its first record is large. */
export async function previewFile(pieces: Pieces): Promise<ImportPreview> {
  let text = '';
  let tryAt = previewCharacters;
  for await (const piece of pieces) {
    text += piece.text;
    if (text.length <= tryAt) continue;
    const preview = previewText(text, false);
    if (preview.rows.length > 0) return preview;
    tryAt *= 4;
  }
  return previewText(text, true);
}

/** The first character says whether it is JSON: CSV that begins with a bracket is rare. */
function previewText(text: string, whole: boolean): ImportPreview {
  const beginning = text.replace(/^\ufeff/, '');
  if (/^\s*[[{]/.test(beginning)) return previewJson(beginning, whole);
  // a line by which spreadsheets know the separator, and which is no row of theirs
  const named = /^sep=(.)\r?\n/i.exec(beginning)?.[1];
  const delimiter = named ?? sniffDelimiter(beginning);
  const headRows = named === undefined ? 1 : 2;
  const reader = new CsvReader({ delimiter });
  const rows = reader.feed(beginning);
  if (whole) rows.push(...reader.end());
  const columns = (rows[headRows - 1]?.cells ?? []).map((cell) => cell ?? '');
  const format = { kind: 'csv', delimiter, headRows } as const;
  return { format, columns, rows: rows.slice(headRows, headRows + previewRows) };
}

function previewJson(text: string, whole: boolean): ImportPreview {
  const reader = new JsonRecordsReader();
  const elements = reader.feed(text);
  if (whole) elements.push(...reader.end());
  const rows = elements.slice(0, previewRows).map(parsed);
  const columns = new Set<string>();
  for (const { record } of rows) {
    if (typeof record === 'object' && record !== null && !Array.isArray(record)) {
      for (const key of Object.keys(record)) columns.add(key);
    }
  }
  return { format: { kind: 'json' }, columns: [...columns], rows };
}
