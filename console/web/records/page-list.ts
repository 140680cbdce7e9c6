import type { CellText } from './cell-text.ts';
import type { Cursor } from './record-view.ts';
import type { Span } from './row-window.ts';

/** A row of the table: only the texts of its cells. */
export interface Row {
  readonly id: string;
  readonly cells: readonly (CellText | null)[];
}

export interface Page {
  readonly start: number;
  /** Number of rows when it was first loaded. */
  count: number;
  readonly after: Cursor | null;
  readonly lastId: string;
  /** From 1; set if the page was not reached from the previous one. */
  readonly number?: number;
  /** Null while out of sight. */
  rows: Row[] | null;
}

/** The known pages, and where the next one begins. */
export interface PageList {
  pages: Page[];
  known: number;
  next: Cursor | null;
  complete: boolean;
}

/** Rows that are loaded ahead of the viewport. */
export const ahead = 100;

/** Index of the last page that begins at or before the row. */
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

/** The row of a loaded record; -1: not loaded. */
export function rowOfRecord({ pages }: PageList, id: string): number {
  for (const { start, rows } of pages) {
    const at = rows?.findIndex((row) => row.id === id) ?? -1;
    if (at >= 0) return start + at;
  }
  return -1;
}

/** All pages of `total` records, by page number. */
export function spreadList(total: number, limit: number): PageList {
  const pages = Array.from({ length: Math.ceil(total / limit) }, (_, index) => ({
    start: index * limit,
    count: Math.min(limit, total - index * limit),
    number: index + 1,
    after: null,
    lastId: '',
    rows: null,
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

/** Whether a page is visible, or about to be. */
export function overlaps({ start, count }: Page, { first, end }: Span): boolean {
  return start < end + ahead && start + count > first - ahead;
}
