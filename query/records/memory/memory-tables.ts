import { randomBytes } from 'node:crypto';
import { forEachYielding } from '#kernel/limits/yielding-loop.ts';
import { endOfRow, idSpan, type PackedRows, type Span } from '../sql/packed-row.ts';
import type { PackedBlock } from '../sql/row-block.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import { heldBytes, type RowSizes } from './held-bytes.ts';
import { type HeldTable, IndexBuilds } from './index-builds.ts';
import { type IndexShape, lookupShape, shapeText } from './index-shape.ts';
import { MemoryTable } from './memory-table.ts';

/** Milliseconds after which an unused table may be dropped for others. */
const idleAfter = 60_000;
/** Records that may be written while a space is loaded; with more, loading is aborted. */
const mostWritten = 100_000;
const rowsAtOnce = 100;
/** The share of the memory for counting requests without an index. */
const countsShare = 1 / 16;
/** Bytes of a table in addition to its rows and indexes. */
const overhead = 2000;

export interface TableLoad {
  /** Aborted: the rest is not needed. */
  readonly signal: AbortSignal;
  /** Adds some of the rows. False: no rows are left, or they are not needed. */
  add(rows: PackedRows): boolean;
  /** To be called when all rows were added: the table answers from now on. False: it was dropped. */
  end(): boolean;
  /** Whether it was dropped for lack of room. */
  isUnfit(): boolean;
  /** Does nothing after the end. */
  giveUp(): void;
}

const span: Span = { start: 0, end: 0 };
/** Clients' signals are ignored: the outcome matters even after they have disconnected. */
const unaborted = new AbortController().signal;

/**
 * A bounded cache of whole spaces: tables in memory, each with all records of one. While several accounts want more than
 * there is, each gets its share; a table that was unused for a minute makes room for any other.
 */
export class MemoryTables {
  readonly #limit: number;
  readonly #now: () => number;
  readonly #mostCompared: number | undefined;
  readonly #key = new Uint32Array(new Uint8Array(randomBytes(8)).buffer);
  readonly #entries = new Map<string, HeldTable>();
  /** Spaces whose rows are being changed in the engine's table, and by how many tasks. */
  readonly #rewritten = new Map<string, number>();
  readonly #builds: IndexBuilds;
  #bytes = 0;

  /** @param options.mostCompared rows of a table that are compared one by one, where no index serves */
  constructor(bytes: number, options: { readonly now?: () => number; readonly mostCompared?: number } = {}) {
    this.#limit = bytes * (1 - countsShare);
    this.#builds = new IndexBuilds({
      bytes: bytes * countsShare,
      grown: (entry) => this.#measure(entry),
      failed: (entry) => this.#drop(entry, true),
    });
    this.#now = options.now ?? Date.now;
    this.#mostCompared = options.mostCompared;
  }

  get keeps(): boolean {
    return this.#limit > 0;
  }

  /** Of all tables, including the indexes of ids. */
  get indexes(): number {
    return [...this.#entries.values()].reduce((sum, { table }) => sum + table.indexes.length, 0);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether the records of a space are in memory, or being loaded. */
  has(spaceId: string): boolean {
    return this.#entries.has(spaceId);
  }

  /** The table of a space, if it can answer. */
  find(spaceId: string): MemoryTable | null {
    const entry = this.#entries.get(spaceId);
    if (entry === undefined || !entry.whole || this.#rewritten.has(spaceId)) return null;
    entry.usedAt = this.#now();
    return entry.table;
  }

  /** The most that the table of a space takes when it is begun. */
  bytesOf(spaceId: string, unique: readonly string[], sizes: RowSizes): number {
    return heldBytes(sizes, 1 + this.#builds.firstOf(spaceId, unique).length);
  }

  hasRoom(account: string, bytes: number): boolean {
    const { bytes: used, share } = this.#shares(account);
    let free = this.#limit;
    for (const of of used.values()) free -= of;
    return bytes <= free || (used.get(account) as number) + bytes <= share;
  }

  /** Begins a table. Null: one exists, or the space is being rewritten. @param unique slots that records are looked up by */
  begin(spaceId: string, account: string, unique: readonly string[]): TableLoad | null {
    if (this.#entries.has(spaceId) || this.#rewritten.has(spaceId) || this.#limit === 0) return null;
    const entry: HeldTable = {
      spaceId,
      account,
      bytes: overhead,
      usedAt: this.#now(),
      adding: 1,
      whole: false,
      isUnfit: false,
      written: new Set(),
      dropped: new AbortController(),
      table: new MemoryTable(this.#key, this.#mostCompared),
      lasting: new Set(unique.map((slot) => shapeText(lookupShape(slot)))),
    };
    this.#builds.begin(spaceId, entry.table, unique);
    this.#entries.set(spaceId, entry);
    this.#bytes += overhead;
    return {
      signal: entry.dropped.signal,
      add: (rows) => this.#addPacked(entry, rows),
      end: () => {
        if (entry.dropped.signal.aborted) return false;
        entry.whole = true;
        this.#added(entry);
        return true;
      },
      isUnfit: () => entry.isUnfit,
      giveUp: () => {
        if (!entry.whole) this.#drop(entry);
      },
    };
  }

  /** To be called when a write is durable and can be seen. @param row null: removed */
  written(spaceId: string, id: string, row: StoredRow | null): void {
    const entry = this.#entries.get(spaceId);
    if (entry === undefined) return;
    const isBusy = entry.adding > 0 && entry.written.add(id).size > mostWritten;
    if (row === null) entry.table.remove(id);
    if (isBusy || (row !== null && !this.#put(entry, row))) this.#drop(entry, true);
    this.#measure(entry);
  }

  /**
   * Inserts many records of a space. Nothing is answered from memory until all of them are there.
   * @param insert makes them durable and visible. If it fails, its effect is unknown
   */
  async insert<Result>(block: PackedBlock, insert: () => Promise<Result>): Promise<Result> {
    const { spaceId } = block;
    const entry = this.#entries.get(spaceId);
    if (entry === undefined) return this.rewrite(spaceId, insert);
    // it is unknown which rows a table has while it is loading
    if (!entry.whole) this.#drop(entry);
    this.#hold(spaceId);
    entry.adding++;
    try {
      const result = await insert();
      await this.#addBlock(entry, block);
      this.#measure(entry);
      return result;
    } catch (error) {
      this.#drop(entry);
      throw error;
    } finally {
      this.#added(entry);
      this.#release(spaceId);
    }
  }

  /** Does work that changes records of a space in the engine's table. */
  async rewrite<Result>(spaceId: string, work: () => Promise<Result>): Promise<Result> {
    this.drop(spaceId);
    this.#hold(spaceId);
    try {
      return await work();
    } finally {
      this.#release(spaceId);
    }
  }

  drop(spaceId: string): void {
    const entry = this.#entries.get(spaceId);
    if (entry !== undefined) this.#drop(entry);
  }

  #hold(spaceId: string): void {
    this.#rewritten.set(spaceId, (this.#rewritten.get(spaceId) ?? 0) + 1);
  }

  #release(spaceId: string): void {
    const left = (this.#rewritten.get(spaceId) as number) - 1;
    if (left > 0) this.#rewritten.set(spaceId, left);
    else this.#rewritten.delete(spaceId);
  }

  #added(entry: HeldTable): void {
    if (--entry.adding === 0) entry.written.clear();
  }

  /** False: the table has no room for it. The write happens anyway. */
  #put({ table }: HeldTable, row: StoredRow): boolean {
    try {
      return table.put(row);
    } catch {
      // no memory for it
      return false;
    }
  }

  async #addBlock(entry: HeldTable, { rows, begins }: PackedBlock): Promise<void> {
    const add = (begin: number): void => {
      if (!entry.dropped.signal.aborted) this.#addRow(entry, rows, begin, endOfRow(rows, begin));
    };
    await forEachYielding(begins, add, unaborted);
  }

  #addPacked(entry: HeldTable, rows: PackedRows): boolean {
    let more = true;
    for (let left = rowsAtOnce; left > 0 && !entry.dropped.signal.aborted; left--) {
      more = rows.next();
      if (!more) break;
      const { bytes, start, end } = rows;
      this.#addRow(entry, bytes, start, end);
    }
    this.#measure(entry);
    return more && !entry.dropped.signal.aborted;
  }

  /** Adds a row, unless it has been changed or removed since. */
  #addRow(entry: HeldTable, bytes: Buffer, start: number, end: number): void {
    if (entry.written.size > 0) {
      idSpan(bytes, start, span);
      if (entry.written.has(bytes.toString('latin1', span.start, span.end))) return;
    }
    let isKept = false;
    try {
      isKept = entry.table.putPacked(bytes, start, end);
    } catch {
      // no memory for it
    }
    if (!isKept) this.#drop(entry, true);
  }

  #drop(entry: HeldTable, isUnfit = false): void {
    if (entry.dropped.signal.aborted) return;
    entry.isUnfit = isUnfit;
    entry.dropped.abort(new Error('the table in memory was given up'));
    this.#entries.delete(entry.spaceId);
    this.#bytes -= entry.bytes;
  }

  /** Counts the present bytes of a table, and makes room for them. */
  #measure(entry: HeldTable): void {
    if (entry.dropped.signal.aborted) return;
    const bytes = entry.table.bytes + overhead;
    this.#bytes += bytes - entry.bytes;
    entry.bytes = bytes;
    while (this.#bytes > this.#limit) {
      const victim = this.#victimFor(entry);
      this.#drop(victim ?? entry, victim === null);
    }
  }

  /** The table to drop for another one: unused, or owned by an account above its share. Null: none. */
  #victimFor(entry: HeldTable): HeldTable | null {
    const { bytes, share } = this.#shares(entry.account);
    const own = bytes.get(entry.account) ?? 0;
    const idle = this.#now() - idleAfter;
    let oldest: HeldTable | null = null;
    for (const other of this.#entries.values()) {
      if (other === entry || (oldest !== null && other.usedAt >= oldest.usedAt)) continue;
      const isFree = other.usedAt < idle;
      if (isFree || (own <= share && (bytes.get(other.account) ?? 0) > share)) oldest = other;
    }
    return oldest;
  }

  /** The use of each account, and its share while others want more. @param account an account that wants memory */
  #shares(account: string): { readonly bytes: ReadonlyMap<string, number>; readonly share: number } {
    const bytes = new Map([[account, 0]]);
    const idle = this.#now() - idleAfter;
    for (const entry of this.#entries.values()) {
      if (entry.usedAt < idle) continue;
      bytes.set(entry.account, (bytes.get(entry.account) ?? 0) + entry.bytes);
    }
    return { bytes, share: this.#limit / bytes.size };
  }

  /** A request for records of a space was not answered from memory: indexes of these shapes would have helped. */
  missed(spaceId: string, shapes: readonly IndexShape[]): void {
    if (this.#limit > 0) this.#builds.missed(spaceId, shapes, this.#entries.get(spaceId));
  }
}
