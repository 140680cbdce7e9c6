import { type CellText, cellText } from './cell-text.ts';
import type { ReadRecord } from './record-form.ts';
import type { Cursor, PageRequest } from './record-view.ts';
import type { Span } from './row-window.ts';

/** A record as the table has it: the texts of its cells, and no more. */
export interface Row {
  readonly id: string;
  readonly cells: readonly (CellText | null)[];
}

export interface AnsweredPage {
  readonly records: readonly ReadRecord[];
  /** Length of the answer, by which the next page is measured. */
  readonly size: number;
}

export interface RecordPagesInput {
  readonly columns: readonly string[];
  /** The order of records. */
  readonly sortBy: readonly string[];
  readonly load: (request: PageRequest, signal: AbortSignal) => Promise<AnsweredPage>;
  readonly changed: () => void;
}

interface Page {
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

const firstLimit = 50;
const largestLimit = 500;
/** The same on the way to the end, where most rows are passed by. */
const passedLimit = 5000;
/** Characters of an answer, about: more would be felt when it is parsed. */
const pageSize = 1_000_000;
/** Cells that are kept; at some 120 characters each this is 50 MB. */
const keptCells = 200_000;
/** Rows that are read before the reader comes to them. */
const ahead = 100;

/**
 * The records of a view, page by page as the reader scrolls: each page begins behind the last record of the one before,
 * so nothing is counted and no page is slower than the first. Pages out of sight are forgotten, and read again from the
 * same record when the reader comes back.
 */
export class RecordPages {
  readonly #input: RecordPagesInput;
  readonly #abort = new AbortController();
  #pages: Page[] = [];
  #known = 0;
  #next: Cursor | null = null;
  #limit = firstLimit;
  #complete = false;
  #wanted: Span = { first: 0, end: 1 };
  #loading = false;
  #readsOn = false;
  /** Rows of a page that is found by its number; null while pages follow each other. */
  #spreadLimit: number | null = null;
  #error: unknown = null;

  constructor(input: RecordPagesInput) {
    this.#input = input;
  }

  /** Rows that have been read so far. */
  get known(): number {
    return this.#known;
  }
  /** Whether there are no more. */
  get complete(): boolean {
    return this.#complete;
  }
  get loading(): boolean {
    return this.#loading;
  }
  get error(): unknown {
    return this.#error;
  }

  /** Null: it is not there yet. `gone`: it was deleted since. */
  row(index: number): Row | null | 'gone' {
    const page = this.#pages[this.#pageAt(index)];
    if (page === undefined || index >= page.start + page.count || page.rows === null) return null;
    return page.rows[index - page.start] ?? 'gone';
  }

  get kept(): number {
    return this.#pages.reduce((sum, { rows }) => sum + (rows?.length ?? 0), 0);
  }

  *rows(): Generator<Row> {
    for (const { rows } of this.#pages) if (rows !== null) yield* rows;
  }

  /** Says which rows are visible; reads the missing ones, and some more. */
  want(span: Span): void {
    this.#wanted = span;
    if (!this.#loading && this.#error === null) void this.#loadAll();
  }

  /**
   * Gives the last row a place: where it is known how many there are, all pages get theirs, and are read by their numbers
   * when they are seen; or it is read on to the end.
   */
  toEnd(total: number | null): void {
    if (this.#complete) return;
    if (total !== null && total > this.#known) this.#spread(total, this.#limit);
    else this.#readsOn = true;
    this.want(this.#wanted);
  }

  #spread(total: number, limit: number): void {
    this.#pages = Array.from({ length: Math.ceil(total / limit) }, (_, index) => ({
      ...{ start: index * limit, count: Math.min(limit, total - index * limit), number: index + 1 },
      ...{ after: null, lastId: '', rows: null },
    }));
    this.#known = total;
    this.#complete = true;
    this.#spreadLimit = limit;
    this.#input.changed();
  }

  retry(): void {
    this.#error = null;
    this.want(this.#wanted);
  }

  /** A record that was changed: its row shows it as it is now, where it was. */
  replace(record: ReadRecord): void {
    const row = this.#rowOf(record);
    for (const { rows } of this.#pages) {
      const index = rows?.findIndex(({ id }) => id === row.id) ?? -1;
      if (rows !== null && index >= 0) rows[index] = row;
    }
    this.#input.changed();
  }

  remove(ids: ReadonlySet<string>): void {
    let start = 0;
    this.#pages = this.#pages.map((page) => {
      const rows = page.rows?.filter(({ id }) => !ids.has(id)) ?? null;
      const gone = (page.rows?.length ?? 0) - (rows?.length ?? 0);
      const moved = { ...page, start, count: page.count - gone, rows };
      start += moved.count;
      return moved;
    });
    this.#known = start;
    // the records behind are in other pages now
    if (this.#spreadLimit !== null) this.#spread(start, this.#spreadLimit);
    this.#input.changed();
    this.want(this.#wanted);
  }

  /** Nothing is read any more. */
  close(): void {
    this.#abort.abort();
  }

  /** The last page that begins at the row or before it. */
  #pageAt(index: number): number {
    let low = 0;
    let high = this.#pages.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#pages[middle]?.start ?? 0) <= index) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  async #loadAll(): Promise<void> {
    this.#loading = true;
    this.#input.changed();
    try {
      while (!this.#abort.signal.aborted) {
        const forgotten = this.#forgottenPage();
        if (forgotten !== undefined) await this.#reload(forgotten);
        else if (!this.#complete && (this.#readsOn || this.#wanted.end + ahead > this.#known))
          await this.#loadNext();
        else break;
        this.#forget();
        this.#input.changed();
      }
    } catch (error) {
      this.#error = error;
    } finally {
      this.#loading = false;
      if (!this.#abort.signal.aborted) this.#input.changed();
    }
  }

  #forgottenPage(): Page | undefined {
    const last = Math.min(this.#pages.length - 1, this.#pageAt(this.#wanted.end));
    for (let index = this.#pageAt(this.#wanted.first); index <= last; index++) {
      if (this.#pages[index]?.rows === null) return this.#pages[index];
    }
    return undefined;
  }

  async #loadNext(): Promise<void> {
    const after = this.#next;
    const pages = this.#pages;
    const { records, size } = await this.#input.load({ limit: this.#limit, after }, this.#abort.signal);
    // some were deleted meanwhile, or all pages have places now
    if (this.#pages !== pages) return;
    const last = records.at(-1);
    this.#complete = records.length < this.#limit;
    if (last === undefined) return;
    this.#next = cursorOf(last, this.#input.sortBy);
    const rows = records.map((record) => this.#rowOf(record));
    const page = { start: this.#known, count: rows.length, after, lastId: this.#next.id, rows };
    this.#pages.push(page);
    this.#known += rows.length;
    this.#limit = nextLimit(records.length, size, this.#readsOn ? passedLimit : largestLimit);
  }

  async #reload(page: Page): Promise<void> {
    const { count, after, number } = page;
    const request = number
      ? { limit: this.#spreadLimit ?? count, after, page: number }
      : { limit: count, after };
    const { records } = await this.#input.load(request, this.#abort.signal);
    // where some were deleted, the answer goes on into the page behind
    const last = records.findIndex(({ id }) => id === page.lastId);
    const own = last < 0 ? records : records.slice(0, last + 1);
    page.rows = own.slice(0, count).map((record) => this.#rowOf(record));
    if (number !== undefined && records.length < count) this.#endAt(page, records.length);
  }

  /** There are fewer than were expected. */
  #endAt(page: Page, count: number): void {
    page.count = count;
    this.#pages = this.#pages.slice(0, this.#pages.indexOf(page) + 1);
    this.#known = page.start + count;
  }

  /** Forgets pages, the farthest first, until few enough cells are left. */
  #forget(): void {
    const cells = (page: Page): number => (page.rows?.length ?? 0) * this.#input.columns.length;
    let kept = this.#pages.reduce((sum, page) => sum + cells(page), 0);
    if (kept <= keptCells) return;
    const middle = (this.#wanted.first + this.#wanted.end) / 2;
    const far = this.#pages
      .filter((page) => page.rows !== null && !overlaps(page, this.#wanted))
      .sort((a, b) => Math.abs(b.start - middle) - Math.abs(a.start - middle));
    for (const page of far) {
      if (kept <= keptCells) return;
      kept -= cells(page);
      page.rows = null;
    }
  }

  #rowOf(record: ReadRecord): Row {
    return { id: String(record.id), cells: this.#input.columns.map((column) => cellText(record[column])) };
  }
}

function overlaps({ start, count }: Page, { first, end }: Span): boolean {
  return start < end + ahead && start + count > first - ahead;
}

export function cursorOf(record: ReadRecord, sortBy: readonly string[]): Cursor {
  const id = String(record.id);
  const values = sortBy.map((name) => (name === 'id' ? null : (record[name] ?? null)));
  if (values.length > 1) return { id, values };
  return sortBy[0] === 'id' ? { id } : { id, value: values[0] };
}

/** How many records are asked for next, so that an answer stays small however large the records are. */
export function nextLimit(count: number, size: number, largest = largestLimit): number {
  const fitting = Math.floor(pageSize / Math.max(1, size / Math.max(1, count)));
  return Math.max(1, Math.min(largest, fitting));
}
