import type { CellText } from './cell-text.ts';
import type { Cursor } from './record-view.ts';
import type { Span } from './row-window.ts';

/** A record as the table has it: the texts of its cells, and no more. */
export interface Row {
  readonly id: string;
  readonly cells: readonly (CellText | null)[];
}

export interface Page {
  readonly start: number;
  /** How many rows it had when it was first read. */
  count: number;
  readonly after: Cursor | null;
  readonly lastId: string;
  /** From 1, of a page that was not come to from the one before. */
  readonly number?: number;
  /** Null while nobody sees it. */
  rows: Row[] | null;
}

/** The pages that are known, and where the next one begins. */
export interface PageList {
  pages: Page[];
  known: number;
  next: Cursor | null;
  complete: boolean;
}

/** Rows that are read before the reader comes to them. */
export const ahead = 100;

/** Index of the last page that begins at the row or before it. */
export function pageAt({ pages }: PageList, row: number): number {
  let low = 0;
  let high = pages.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((pages[middle]?.start ?? 0) <= row) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The row of a record that is here; -1: it is not. */
export function rowOfRecord({ pages }: PageList, id: string): number {
  for (const { start, rows } of pages) {
    const at = rows?.findIndex((row) => row.id === id) ?? -1;
    if (at >= 0) return start + at;
  }
  return -1;
}

/** All pages of so many records, to be found by their numbers. */
export function spreadList(total: number, limit: number): PageList {
  const pages = Array.from({ length: Math.ceil(total / limit) }, (_, index) => ({
    ...{ start: index * limit, count: Math.min(limit, total - index * limit), number: index + 1 },
    ...{ after: null, lastId: '', rows: null },
  }));
  return { pages, known: total, next: null, complete: true };
}

export function withoutRecords(list: PageList, ids: ReadonlySet<string>): PageList {
  let start = 0;
  const pages = list.pages.map((page) => {
    const rows = page.rows?.filter(({ id }) => !ids.has(id)) ?? null;
    const gone = (page.rows?.length ?? 0) - (rows?.length ?? 0);
    const moved = { ...page, start, count: page.count - gone, rows };
    start += moved.count;
    return moved;
  });
  return { ...list, pages, known: start };
}

/** Whether a page is seen, or about to be. */
export function overlaps({ start, count }: Page, { first, end }: Span): boolean {
  return start < end + ahead && start + count > first - ahead;
}
