import type { ReadPlan } from '../input/read-plan.ts';
import { RowWriter, readRow } from '../sql/packed-row.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { RecordParts } from '../structure/record-parts.ts';
import { type BuiltIndex, type IndexShape, shapeText } from './index-shape.ts';
import { OrderedIndex } from './ordered-index.ts';
import { PlanSearch } from './plan-search.ts';
import { RowJson } from './row-json.ts';
import { compareTie, idOrder, orderKey } from './row-order.ts';
import { RowSlabs } from './row-slabs.ts';

/** The most bytes of an answer made in one step, which blocks the event loop. */
const mostBytes = 1024 * 1024;

const json = new RowJson();
const writer = new RowWriter();

/** An index that is filled step by step. */
interface Build {
  readonly index: OrderedIndex;
  /** Rows with numbers below this one are in the index. */
  next: number;
}

/**
 * The records of one space in memory, with their indexes. Each change and each read is one step: nobody sees half of it.
 */
export class MemoryTable {
  readonly #rows = new RowSlabs();
  readonly #key: Uint32Array;
  readonly #ids: OrderedIndex;
  readonly #indexes: OrderedIndex[];
  #build: Build | null = null;
  readonly #search: PlanSearch;

  /** @param key of the hashes, two words that nobody can guess */
  constructor(key: Uint32Array, mostCompared?: number) {
    this.#key = key;
    this.#ids = new OrderedIndex({ slots: [], order: idOrder }, this.#rows, key);
    this.#indexes = [this.#ids];
    this.#search = new PlanSearch({
      rows: this.#rows,
      ids: this.#ids,
      indexes: this.#indexes,
      mostCompared,
      numberOf: (id) => this.#find(id),
    });
  }

  get size(): number {
    return this.#rows.live;
  }

  get bytes(): number {
    let bytes = this.#rows.bytes + (this.#build?.index.bytes ?? 0);
    for (const index of this.#indexes) bytes += index.bytes;
    return bytes;
  }

  get indexes(): readonly BuiltIndex[] {
    return this.#indexes;
  }

  /** Adds or replaces a record. False: it can't be kept, and the table is incomplete now. */
  put(row: StoredRow): boolean {
    const bytes = writer.write(row, RowSlabs.largest);
    return bytes !== null && this.putPacked(bytes, 0, bytes.byteLength);
  }

  /** The same with a record in the form of `packed-row.ts`. */
  putPacked(bytes: Buffer, start: number, end: number): boolean {
    const key = orderKey(idOrder, bytes, start);
    if (Number.isNaN(key) || end - start > RowSlabs.largest) return false;
    const known = this.#numberOf(key, bytes, start);
    if (known < 0) {
      const number = this.#rows.add(bytes, start, end);
      for (const index of this.#indexesWith(number)) index.add(number, bytes, start);
      return true;
    }
    const [before, at] = [this.#rows.bufferOf(known), this.#rows.offsetOf(known)];
    // it was found by its id, so the id did not change
    const changed = this.#indexesWith(known).filter(
      (index) => index !== this.#ids && !index.isSame(before, at, bytes, start),
    );
    for (const index of changed) index.remove(known, before, at);
    this.#rows.replace(known, bytes, start, end);
    for (const index of changed) index.add(known, bytes, start);
    return true;
  }

  remove(id: string): void {
    const number = this.#find(id);
    if (number < 0) return;
    const [bytes, at] = [this.#rows.bufferOf(number), this.#rows.offsetOf(number)];
    for (const index of this.#indexesWith(number)) index.remove(number, bytes, at);
    this.#rows.remove(number);
  }

  get(id: string): StoredRow | null {
    const number = this.#find(id);
    return number < 0 ? null : this.#read(number);
  }

  /** Records with a value in a slot, oldest first; null: memory can't answer. */
  lookUp(slot: string, text: string): readonly StoredRow[] | null {
    const numbers = this.#search.lookUp(slot, text);
    return numbers && this.rows(numbers);
  }

  /** Numbers of the records of a plan; null: memory can't answer. */
  find(plan: ReadPlan): readonly number[] | null {
    return this.#search.find(plan);
  }

  rows(numbers: readonly number[]): readonly StoredRow[] {
    return numbers.map((number) => this.#read(number));
  }

  /** A JSON array of records; null: too large for one step. */
  list(shown: RecordParts, numbers: readonly number[]): Uint8Array | null {
    return json.list(shown, numbers, this.#rows, mostBytes);
  }

  record(shown: RecordParts, number: number): Uint8Array {
    return json.record(shown, this.#rows.bufferOf(number), this.#rows.offsetOf(number));
  }

  hasIndex(shape: IndexShape): boolean {
    return this.#indexes.some((index) => shapeText(index) === shapeText(shape));
  }

  /** Begins to build an index. False: another one is being built, or it exists already. */
  beginIndex(shape: IndexShape): boolean {
    if (this.#build !== null || this.hasIndex(shape)) return false;
    this.#build = { index: new OrderedIndex(shape, this.#rows, this.#key), next: 0 };
    return true;
  }

  /** Adds more rows to the index being built. True: it is complete. */
  continueIndex(rows: number): boolean {
    const build = this.#build;
    if (build === null) return true;
    for (let left = rows; left > 0 && build.next < this.#rows.count; left--) {
      const number = build.next++;
      if (this.#rows.has(number))
        build.index.add(number, this.#rows.bufferOf(number), this.#rows.offsetOf(number));
    }
    if (build.next < this.#rows.count) return false;
    this.#search.used(build.index);
    this.#indexes.push(build.index);
    this.#build = null;
    return true;
  }

  dropIndex(shape: IndexShape): void {
    const at = this.#indexes.findIndex((index) => shapeText(index) === shapeText(shape));
    if (at > 0) this.#indexes.splice(at, 1);
  }

  #indexesWith(number: number): readonly OrderedIndex[] {
    const build = this.#build;
    return build !== null && number < build.next ? [...this.#indexes, build.index] : this.#indexes;
  }

  #find(id: string): number {
    const probe = writer.id(id, 1000);
    if (probe === null) return -1;
    const key = orderKey(idOrder, probe, 0);
    return Number.isNaN(key) ? -1 : this.#numberOf(key, probe, 0);
  }

  /** The number of the record with the id of a row; -1: there is none. */
  #numberOf(key: number, bytes: Buffer, row: number): number {
    const number = this.#ids.rowAt(this.#ids.seek(0, key, { bytes, row }), 0);
    if (number < 0) return number;
    return compareTie(idOrder, bytes, row, this.#rows.bufferOf(number), this.#rows.offsetOf(number)) === 0
      ? number
      : -1;
  }

  #read(number: number): StoredRow {
    return readRow(this.#rows.bufferOf(number), this.#rows.offsetOf(number));
  }
}
