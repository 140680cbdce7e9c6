import type { ReadPlan } from '../input/read-plan.ts';
import { RowWriter, readRow } from '../sql/packed-row.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import { slotOf } from '../structure/slots.ts';
import type { Structure } from '../structure/structure.ts';
import { type IndexShape, shapeText } from './index-shape.ts';
import { OrderedIndex, type Position } from './ordered-index.ts';
import { RowJson } from './row-json.ts';
import { compareTie, idOrder, orderKey, orderOf, type RowOrder, sameOrder } from './row-order.ts';
import { RowSlabs } from './row-slabs.ts';
import { meets, valueWanted, type Wanted, wantedOf } from './wanted.ts';

/** Rows that an answer is made of at once, and bytes of it: the event loop stands still meanwhile. */
const mostRows = 1000;
const mostBytes = 1024 * 1024;
/** Rows that are compared one by one to find those of a request. */
const usualCompared = 500;

const json = new RowJson();
const writer = new RowWriter();

/** An index that gets its rows bit by bit. */
interface Build {
  readonly index: OrderedIndex;
  /** Numbers of rows below this one are in it. */
  next: number;
}

/**
 * The records of one space in memory, with its indexes. Each change and each read is one step: nobody sees half of it.
 */
export class MemoryTable {
  readonly #rows = new RowSlabs();
  readonly #key: Uint32Array;
  readonly #ids: OrderedIndex;
  readonly #indexes: OrderedIndex[];
  #build: Build | null = null;
  readonly #mostCompared: number;

  /** @param key of the hashes, two words that nobody can guess */
  constructor(key: Uint32Array, mostCompared = usualCompared) {
    this.#key = key;
    this.#mostCompared = mostCompared;
    this.#ids = new OrderedIndex({ slots: [], order: idOrder }, this.#rows, key);
    this.#indexes = [this.#ids];
  }

  get size(): number {
    return this.#rows.live;
  }

  /** All memory that is held. */
  get bytes(): number {
    let bytes = this.#rows.bytes + (this.#build?.index.bytes ?? 0);
    for (const index of this.#indexes) bytes += index.bytes;
    return bytes;
  }

  get indexes(): readonly IndexShape[] {
    return this.#indexes;
  }

  /** Adds a record, or replaces it. False: it can't be kept, and the table is not whole any more. */
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
    const changed = this.#indexesWith(known).filter((index) => !index.isSame(before, at, bytes, start));
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

  /** Records that have a value in a slot, oldest first; null: memory is no help. */
  lookUp(slot: string, text: string): readonly StoredRow[] | null {
    const numbers = this.#findAll(everything, [valueWanted(slot, text)], idOrder);
    return numbers && this.rows(numbers);
  }

  /** Numbers of the records that a plan asks for; null: memory is no help. */
  find(plan: ReadPlan): readonly number[] | null {
    const { conditions, page, sort } = plan;
    if (conditions.hashed.length > 0) return null;
    if (page !== null && page.limit > mostRows) return null;
    const order = orderOf(sort);
    const wanted = conditions.plain.map(wantedOf);
    if (conditions.relationship === 'And' || wanted.length < 2) return this.#findAll(plan, wanted, order);
    return this.#findAny(plan, wanted, order);
  }

  /** Records by their numbers. */
  rows(numbers: readonly number[]): readonly StoredRow[] {
    return numbers.map((number) => this.#read(number));
  }

  /** A JSON array of records; null: it is too large to be made at once. */
  list(structure: Structure, numbers: readonly number[]): Uint8Array | null {
    json.begin();
    json.byte(0x5b);
    for (const [place, number] of numbers.entries()) {
      if (place > 0) json.comma();
      this.#write(structure, number);
      if (json.length > mostBytes) return null;
    }
    json.byte(0x5d);
    return json.end();
  }

  record(structure: Structure, number: number): Uint8Array {
    json.begin();
    this.#write(structure, number);
    return json.end();
  }

  /** Begins to build an index. False: another one is being built, or it is there. */
  beginIndex(shape: IndexShape): boolean {
    if (
      this.#build !== null ||
      this.#indexOf(
        shape.slots.map((slot) => ({ slot })),
        shape.order,
      ) !== undefined
    )
      return false;
    this.#build = { index: new OrderedIndex(shape, this.#rows, this.#key), next: 0 };
    return true;
  }

  /** Adds some more rows to the index that is built. True: it is done. */
  continueIndex(rows: number): boolean {
    const build = this.#build;
    if (build === null) return true;
    for (let left = rows; left > 0 && build.next < this.#rows.count; left--) {
      const number = build.next++;
      if (this.#rows.has(number))
        build.index.add(number, this.#rows.bufferOf(number), this.#rows.offsetOf(number));
    }
    if (build.next < this.#rows.count) return false;
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

  #indexOf(slots: readonly { readonly slot: string }[], order: RowOrder): OrderedIndex | undefined {
    for (const index of this.#indexes) {
      if (index.slots.length !== slots.length || !sameOrder(index.order, order)) continue;
      let same = true;
      for (let at = 0; at < slots.length; at++) same &&= index.slots[at] === slots[at]?.slot;
      if (same) return index;
    }
    return undefined;
  }

  #find(id: string): number {
    const probe = writer.write({ _id: id, _created_at: epoch, _updated_at: epoch, _doc: {} }, 1024);
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

  #write(structure: Structure, number: number): void {
    const [bytes, row] = [this.#rows.bufferOf(number), this.#rows.offsetOf(number)];
    json.record(structure, bytes, row, this.#rows.sizeOf(number));
  }

  #findAll(plan: ReadPlan, wanted: readonly Wanted[], order: RowOrder): readonly number[] | null {
    const id = wanted.find((one) => one.kind === 'id');
    if (id !== undefined) {
      const number = this.#find(id.text);
      return this.#paged(plan, order, number >= 0 && this.#matches(wanted, number) ? [number] : []);
    }
    const values = valuesIn(wanted);
    const exact = this.#indexOf(values, order);
    if (exact !== undefined) {
      const hash = exact.hashOfValues(values.map(({ bytes }) => bytes));
      return this.#scan(exact, hash, plan, values.length === wanted.length, wanted);
    }
    if (this.size <= this.#mostCompared) return this.#compared(this.#ids, 0, plan, wanted, order);
    for (const index of this.#indexes) {
      const some = values.filter(({ slot }) => index.slots.includes(slot));
      if (some.length === 0 || some.length < index.slots.length) continue;
      const hash = index.hashOfValues(some.map(({ bytes }) => bytes));
      if (!index.hasMore(hash, this.#mostCompared)) return this.#compared(index, hash, plan, wanted, order);
    }
    return null;
  }

  /** By an index of just these values in just this order. */
  #scan(
    index: OrderedIndex,
    hash: number,
    plan: ReadPlan,
    covered: boolean,
    wanted: readonly Wanted[],
  ): readonly number[] | null {
    const { page } = plan;
    const position = this.#begin(index, hash, plan);
    if (position === null) return null;
    const offset = page?.offset ?? 0;
    const isSure = covered && !index.isShared(hash);
    const first = index.rowAt(position, hash);
    // all rows of the hash have the same values: these, or those of another request
    if (isSure && (first < 0 || !this.#matches(wanted, first))) return [];
    const found: number[] = [];
    const limit = page?.limit ?? mostRows;
    if (isSure) index.skip(position, hash, offset);
    let skip = isSure ? 0 : offset;
    let compared = 0;
    for (let number = index.rowAt(position, hash); number >= 0; number = index.rowAt(position, hash)) {
      if (found.length === limit) return page === null ? null : found;
      if (isSure) found.push(number);
      else {
        if (++compared > this.#mostCompared * 4) return null;
        if (this.#matches(wanted, number) && --skip < 0) found.push(number);
      }
      index.next(position);
    }
    return found;
  }

  /** Where a page begins; null: that can't be said. */
  #begin(index: OrderedIndex, hash: number, { page, sort }: ReadPlan): Position | null {
    if (page?.after === undefined) return index.begin(hash);
    const { id, value } = page.after;
    const time = value instanceof Date ? value.toISOString() : epoch;
    const target = sort?.target ?? 'id';
    const _doc: Record<string, string> =
      typeof target === 'string' || value === null ? {} : { [slotOf(target)]: String(value) };
    const bytes = writer.write({ _id: id, _created_at: time, _updated_at: time, _doc }, RowSlabs.largest);
    if (bytes === null) return null;
    const key = orderKey(index.order, bytes, 0);
    if (Number.isNaN(key)) return null;
    const position = index.seek(hash, key, { bytes, row: 0 });
    const number = index.rowAt(position, hash);
    if (number < 0) return position;
    const [other, row] = [this.#rows.bufferOf(number), this.#rows.offsetOf(number)];
    const isSame =
      orderKey(index.order, other, row) === key && compareTie(index.order, bytes, 0, other, row) === 0;
    if (isSame) index.next(position);
    return position;
  }

  /** Compares the few rows of a hash one by one. */
  #compared(
    index: OrderedIndex,
    hash: number,
    plan: ReadPlan,
    wanted: readonly Wanted[],
    order: RowOrder,
  ): readonly number[] | null {
    const found: number[] = [];
    const position = index.begin(hash);
    for (let number = index.rowAt(position, hash); number >= 0; number = index.rowAt(position, hash)) {
      if (this.#matches(wanted, number)) found.push(number);
      index.next(position);
    }
    if (!sameOrder(index.order, order)) this.#sort(found, order);
    return this.#paged(plan, order, found);
  }

  /** Rows that meet one of several conditions. */
  #findAny(plan: ReadPlan, wanted: readonly Wanted[], order: RowOrder): readonly number[] | null {
    if (this.size <= this.#mostCompared) {
      const found: number[] = [];
      const position = this.#ids.begin(0);
      for (let number = this.#ids.rowAt(position, 0); number >= 0; number = this.#ids.rowAt(position, 0)) {
        if (wanted.some((one) => this.#meets(one, number))) found.push(number);
        this.#ids.next(position);
      }
      if (!sameOrder(idOrder, order)) this.#sort(found, order);
      return this.#paged(plan, order, found);
    }
    const found = new Set<number>();
    let missed = false;
    for (const one of wanted) {
      const numbers =
        one.kind === 'createdAt' || one.kind === 'updatedAt'
          ? null
          : this.#findAll(everything, [one], idOrder);
      if (numbers === null || found.size + numbers.length > this.#mostCompared) missed = true;
      else for (const number of numbers) found.add(number);
    }
    if (missed) return null;
    const sorted = [...found];
    this.#sort(sorted, order);
    return this.#paged(plan, order, sorted);
  }

  #sort(numbers: number[], order: RowOrder): void {
    const rows = this.#rows;
    const keys = new Map(
      numbers.map((number) => [number, orderKey(order, rows.bufferOf(number), rows.offsetOf(number))]),
    );
    numbers.sort((a, b) => {
      const [keyA, keyB] = [keys.get(a) as number, keys.get(b) as number];
      if (keyA !== keyB) return keyA < keyB ? -1 : 1;
      return compareTie(order, rows.bufferOf(a), rows.offsetOf(a), rows.bufferOf(b), rows.offsetOf(b));
    });
  }

  /** @param found all rows that match, in order */
  #paged({ page, sort }: ReadPlan, order: RowOrder, found: readonly number[]): readonly number[] | null {
    if (page === null) return found.length > mostRows ? null : found;
    if (page.after === undefined) return found.slice(page.offset, page.offset + page.limit);
    const few = new OrderedIndex({ slots: [], order }, this.#rows, this.#key);
    for (const number of found) few.add(number, this.#rows.bufferOf(number), this.#rows.offsetOf(number));
    const position = this.#begin(few, 0, { page, sort, conditions: noConditions });
    if (position === null) return null;
    const rest: number[] = [];
    for (let number = few.rowAt(position, 0); number >= 0; number = few.rowAt(position, 0)) {
      if (rest.length === page.limit) break;
      rest.push(number);
      few.next(position);
    }
    return rest;
  }

  #matches(wanted: readonly Wanted[], number: number): boolean {
    return wanted.every((one) => this.#meets(one, number));
  }

  #meets(one: Wanted, number: number): boolean {
    const [bytes, row] = [this.#rows.bufferOf(number), this.#rows.offsetOf(number)];
    return meets(one, bytes, row);
  }
}

type ValueWanted = Extract<Wanted, { readonly kind: 'value' }>;

/** Values of fields, one of each, in the order of their slots. */
function valuesIn(wanted: readonly Wanted[]): readonly ValueWanted[] {
  const values: ValueWanted[] = [];
  for (const one of wanted) {
    if (one.kind !== 'value') continue;
    let at = values.length;
    while (at > 0 && (values[at - 1] as ValueWanted).slot > one.slot) at--;
    if (values[at - 1]?.slot !== one.slot) values.splice(at, 0, one);
  }
  return values;
}

const epoch = new Date(0).toISOString();
const noConditions: ReadPlan['conditions'] = { relationship: 'And', plain: [], hashed: [] };
const everything: ReadPlan = { conditions: noConditions, sort: null, page: null };
