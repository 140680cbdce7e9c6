import { type CsvStyle, csvHeader, csvRecord } from './csv-writer.ts';
import type { ReadRecord } from './record-form.ts';
import type { AnsweredPage } from './record-pages.ts';
import { cursorOf } from './record-pages.ts';
import type { Cursor, PageRequest } from './record-view.ts';

export type ExportFormat = 'json' | 'csv';

export interface ExportInput {
  readonly format: ExportFormat;
  readonly style: CsvStyle;
  /** Columns of CSV, in their order. */
  readonly columns: readonly string[];
  readonly pages: AsyncIterable<readonly ReadRecord[]>;
  readonly write: (text: string) => void;
  readonly progress: (records: number) => void;
}

/** Writes a file page by page: a JSON array with a record on each line, or CSV with a header. */
export async function exportRecords({
  format,
  style,
  columns,
  pages,
  write,
  progress,
}: ExportInput): Promise<number> {
  let records = 0;
  write(format === 'json' ? '[' : csvHeader(columns, style));
  for await (const page of pages) {
    const texts =
      format === 'json'
        ? page.map((record, index) => `${records + index === 0 ? '\n' : ',\n'}${JSON.stringify(record)}`)
        : page.map((record) => csvRecord(columns, record, style));
    write(texts.join(''));
    records += page.length;
    progress(records);
  }
  if (format === 'json') write('\n]\n');
  return records;
}

const firstLimit = 100;
const largestLimit = 2000;
/** Characters of an answer, about. */
const pageSize = 4_000_000;

/** All records of a view, one page in memory at a time. */
export async function* pagesOfView(
  load: (request: PageRequest, signal: AbortSignal) => Promise<AnsweredPage>,
  sortBy: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<readonly ReadRecord[]> {
  let after: Cursor | null = null;
  let limit = firstLimit;
  for (;;) {
    signal.throwIfAborted();
    const { records, size } = await load({ limit, after }, signal);
    const last = records.at(-1);
    if (last === undefined) return;
    yield records;
    if (records.length < limit) return;
    after = cursorOf(last, sortBy);
    limit = Math.max(1, Math.min(largestLimit, Math.floor(pageSize / (size / records.length))));
  }
}

const idsOfRequest = 50;

/** Chosen records, in the order in which they were chosen; those that were deleted since are not among them. */
export async function* pagesOfIds(
  ids: readonly string[],
  load: (ids: readonly string[], signal: AbortSignal) => Promise<readonly ReadRecord[]>,
  signal: AbortSignal,
): AsyncGenerator<readonly ReadRecord[]> {
  for (let from = 0; from < ids.length; from += idsOfRequest) {
    signal.throwIfAborted();
    const part = ids.slice(from, from + idsOfRequest);
    const found = new Map((await load(part, signal)).map((record) => [record.id, record]));
    yield part.map((id) => found.get(id)).filter((record) => record !== undefined);
  }
}
