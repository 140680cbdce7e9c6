import { cellText } from './cell-text.ts';
import {
  ahead,
  overlaps,
  type Page,
  type PageList,
  pageAt,
  type Row,
  rowOfRecord,
  spreadList,
  withoutRecords,
} from './page-list.ts';
import type { StoredRecord } from './record-form.ts';
import { cursorOf, type PageRequest } from './record-view.ts';
import type { Span } from './row-window.ts';

export interface PageResponse {
  readonly records: readonly StoredRecord[];
  /** Length of the response, which determines the size of the next page. */
  readonly size: number;
}

export interface RecordPagesInput {
  readonly columns: readonly string[];
  /** The order of records. */
  readonly sortBy: readonly string[];
  readonly load: (request: PageRequest, signal: AbortSignal) => Promise<PageResponse>;
  readonly changed: () => void;
}

const firstLimit = 50;
const largestLimit = 500;
/** The limit on the way to the end, where most rows are skipped. */
const passedLimit = 5000;
/** Characters of a response, about: parsing more would be noticeable. */
const pageSize = 1_000_000;
/** Most cells in memory: 50 MB at about 120 characters each. */
const keptCells = 200_000;

/**
 * The records of a view, loaded by keyset pagination while scrolling: each page begins after the last record of the
 * previous one, so nothing is counted and no page is slower than the first. Pages out of sight are dropped, and
 * reloaded from the same record when they come back into view.
 */
export class RecordPages {
  readonly #input: RecordPagesInput;
  readonly #abort = new AbortController();
  #list: PageList = { pages: [], known: 0, next: null, complete: false };
  #limit = firstLimit;
  #wanted: Span = { first: 0, end: 1 };
  #loading = false;
  #readsOn = false;
  /** Size of pages that are loaded by number; null while pages follow each other. */
  #spreadLimit: number | null = null;
  #error: unknown = null;
  #run = Promise.resolve();
  /** The visible rows have to be reloaded. */
  #isStale = false;
  /** Pages before this index are stale. */
  #staleEnd = 0;

  constructor(input: RecordPagesInput) {
    this.#input = input;
  }

  /** Rows known so far. */
  get known(): number {
    return this.#list.known;
  }
  /** Whether all rows are known. */
  get complete(): boolean {
    return this.#list.complete;
  }
  get loading(): boolean {
    return this.#loading;
  }
  get error(): unknown {
    return this.#error;
  }

  /** Null: not yet loaded. `gone`: deleted since. */
  row(index: number): Row | null | 'gone' {
    const page = this.#list.pages[pageAt(this.#list, index)];
    if (page === undefined || index >= page.start + page.count || page.rows === null) return null;
    return page.rows[index - page.start] ?? 'gone';
  }

  /** The index of a loaded record; -1: not loaded. */
  indexOf(id: string): number {
    return rowOfRecord(this.#list, id);
  }

  get kept(): number {
    return this.#list.pages.reduce((sum, { rows }) => sum + (rows?.length ?? 0), 0);
  }

  *rows(): Generator<Row> {
    for (const { rows } of this.#list.pages) if (rows !== null) yield* rows;
  }

  /** Sets the visible rows; loads missing ones, and some ahead. */
  want(span: Span): void {
    this.#wanted = span;
    if (!this.#loading && this.#error === null) this.#run = this.#loadAll();
  }

  /** Reloads the visible rows after changes. Resolves when they are loaded. */
  async refresh(): Promise<void> {
    this.#isStale = true;
    this.#error = null;
    this.want(this.#wanted);
    await this.#run;
  }

  /**
   * Makes the last row reachable: if the total is known, all pages are placed, and loaded by number when they become
   * visible; otherwise pages are loaded up to the end.
   */
  toEnd(total: number | null): void {
    if (this.#list.complete) return;
    if (total !== null && total > this.#list.known) this.#spread(total, this.#limit);
    else this.#readsOn = true;
    this.want(this.#wanted);
  }

  #spread(total: number, limit: number): void {
    this.#list = spreadList(total, limit);
    this.#staleEnd = 0;
    this.#spreadLimit = limit;
    this.#input.changed();
  }

  retry(): void {
    // the failed load may have been a reload
    void this.refresh();
  }

  /** Shows a changed record in its row, without moving it. */
  replace(record: StoredRecord): void {
    const row = this.#rowOf(record);
    for (const { rows } of this.#list.pages) {
      const index = rows?.findIndex(({ id }) => id === row.id) ?? -1;
      if (rows !== null && index >= 0) rows[index] = row;
    }
    this.#input.changed();
  }

  remove(ids: ReadonlySet<string>): void {
    this.#list = withoutRecords(this.#list, ids);
    // later records are in other pages now
    if (this.#spreadLimit !== null) this.#spread(this.#list.known, this.#spreadLimit);
    this.#input.changed();
    this.want(this.#wanted);
  }

  /** Stops all loads. */
  close(): void {
    this.#abort.abort();
  }

  async #loadAll(): Promise<void> {
    this.#loading = true;
    this.#input.changed();
    try {
      while (!this.#abort.signal.aborted) {
        const forgotten = this.#forgottenPage();
        const isOld = pageAt(this.#list, this.#wanted.first) < this.#staleEnd;
        if ((this.#isStale || isOld) && !this.#readsOn) await this.#readAgain();
        else if (forgotten !== undefined) await this.#reload(forgotten);
        else if (this.#isWanting(this.#list) || (this.#readsOn && !this.#list.complete))
          await this.#loadNext(this.#list);
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
    const last = Math.min(this.#list.pages.length - 1, pageAt(this.#list, this.#wanted.end));
    for (let index = pageAt(this.#list, this.#wanted.first); index <= last; index++) {
      if (this.#list.pages[index]?.rows === null) return this.#list.pages[index];
    }
    return undefined;
  }

  #isWanting({ complete, known }: PageList): boolean {
    return !complete && this.#wanted.end + ahead > known;
  }

  /** Adds a page. The list may be replaced meanwhile, by a deletion or by a spread of all pages. */
  async #loadNext(list: PageList): Promise<void> {
    const { next: after, known: start } = list;
    const { records, size } = await this.#input.load({ limit: this.#limit, after }, this.#abort.signal);
    const last = records.at(-1);
    list.complete = records.length < this.#limit;
    if (list.complete) this.#readsOn = false;
    if (last === undefined) return;
    list.next = cursorOf(last, this.#input.sortBy);
    const rows = records.map((record) => this.#rowOf(record));
    list.pages.push({ start, count: rows.length, after, lastId: list.next.id, rows });
    list.known += rows.length;
    this.#limit = nextLimit(records.length, size, this.#readsOn ? passedLimit : largestLimit);
  }

  /**
   * Reloads from the first visible page. Later pages are dropped; earlier ones are reloaded when they become visible.
   */
  async #readAgain(): Promise<void> {
    const first = pageAt(this.#list, this.#wanted.first);
    this.#isStale = false;
    if (this.#spreadLimit !== null) {
      for (const page of this.#list.pages) {
        if (!overlaps(page, this.#wanted)) page.rows = null;
        // an earlier page may be the last by now
        else if (this.#list.pages.includes(page)) await this.#reload(page);
      }
      return;
    }
    const before = this.#list;
    const { start = 0, after = null } = before.pages[first] ?? {};
    const list = { pages: before.pages.slice(0, first), known: start, next: after, complete: false };
    do await this.#loadNext(list);
    while (this.#isWanting(list));
    if (this.#list !== before) {
      this.#isStale = true;
      return;
    }
    this.#list = list;
    this.#staleEnd = first;
  }

  async #reload(page: Page): Promise<void> {
    const { count, after, number } = page;
    const request = number
      ? { limit: this.#spreadLimit ?? count, after, page: number }
      : { limit: count, after };
    const { records } = await this.#input.load(request, this.#abort.signal);
    // after deletions, the response extends into the next page
    const last = records.findIndex(({ id }) => id === page.lastId);
    const own = last < 0 ? records : records.slice(0, last + 1);
    page.rows = own.slice(0, count).map((record) => this.#rowOf(record));
    if (number === undefined) return;
    // there are fewer or more rows than expected
    if (records.length < count || page === this.#list.pages.at(-1)) this.#endAt(page, records, request.limit);
  }

  #endAt(page: Page, records: readonly StoredRecord[], limit: number): void {
    const last = records.at(-1);
    page.count = records.length;
    page.rows = records.map((record) => this.#rowOf(record));
    this.#list = {
      pages: this.#list.pages.slice(0, this.#list.pages.indexOf(page) + 1),
      known: page.start + page.count,
      next: last === undefined ? null : cursorOf(last, this.#input.sortBy),
      complete: records.length < limit,
    };
  }

  /** Drops pages, the farthest first, until few enough cells are left. */
  #forget(): void {
    const cells = (page: Page): number => (page.rows?.length ?? 0) * this.#input.columns.length;
    let kept = this.#list.pages.reduce((sum, page) => sum + cells(page), 0);
    if (kept <= keptCells) return;
    const middle = (this.#wanted.first + this.#wanted.end) / 2;
    const far = this.#list.pages
      .filter((page) => page.rows !== null && !overlaps(page, this.#wanted))
      .sort((a, b) => Math.abs(b.start - middle) - Math.abs(a.start - middle));
    for (const page of far) {
      if (kept <= keptCells) return;
      kept -= cells(page);
      page.rows = null;
    }
  }

  #rowOf(record: StoredRecord): Row {
    return { id: String(record.id), cells: this.#input.columns.map((column) => cellText(record[column])) };
  }
}

/** The next page size, so that a response stays small however large the records are. */
export function nextLimit(count: number, size: number, largest = largestLimit): number {
  const fitting = Math.floor(pageSize / Math.max(1, size / Math.max(1, count)));
  return Math.max(1, Math.min(largest, fitting));
}
