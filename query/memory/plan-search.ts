import type { ReadPlan } from '../input/read-plan.ts';
import { RowWriter } from '../sql/packed-row.ts';
import { slotOf } from '../structure/slots.ts';
import { OrderedIndex, type Position } from './ordered-index.ts';
import { compareTie, idOrder, orderKey, orderOf, type RowOrder, sameOrder } from './row-order.ts';
import { RowSlabs } from './row-slabs.ts';
import { meets, valueWanted, type Wanted, wantedOf } from './wanted.ts';

/** Rows that an answer is made of at once: the event loop stands still meanwhile. */
const mostRows = 1000;
/** Rows that are compared one by one to find those of a request. */
const usualCompared = 500;

const writer = new RowWriter();

/** Finds the rows of a table that a plan asks for, by the indexes that there are. */
export class PlanSearch {
  readonly #rows: RowSlabs;
  readonly #key: Uint32Array;
  readonly #ids: OrderedIndex;
  readonly #indexes: readonly OrderedIndex[];
  readonly #numberOf: (id: string) => number;
  readonly #mostCompared: number;

  /** @param args.indexes as they are when it is asked @param args.numberOf of the record with an id; -1: there is none */
  constructor(args: {
    readonly rows: RowSlabs;
    readonly key: Uint32Array;
    readonly ids: OrderedIndex;
    readonly indexes: readonly OrderedIndex[];
    readonly numberOf: (id: string) => number;
    readonly mostCompared: number | undefined;
  }) {
    this.#rows = args.rows;
    this.#key = args.key;
    this.#ids = args.ids;
    this.#indexes = args.indexes;
    this.#numberOf = args.numberOf;
    this.#mostCompared = args.mostCompared ?? usualCompared;
  }

  /** Numbers of records that have a value in a slot, oldest first; null: memory is no help. */
  lookUp(slot: string, text: string): readonly number[] | null {
    return this.#findAll(everything, [valueWanted(slot, text)], idOrder);
  }

  /** Those that a plan asks for; null: memory is no help. */
  find(plan: ReadPlan): readonly number[] | null {
    const { conditions, page, sort } = plan;
    if (conditions.hashed.length > 0) return null;
    if (page !== null && page.limit > mostRows) return null;
    const order = orderOf(sort);
    const wanted = conditions.plain.map(wantedOf);
    if (conditions.relationship === 'And' || wanted.length < 2) return this.#findAll(plan, wanted, order);
    return this.#findAny(plan, wanted, order);
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

  #findAll(plan: ReadPlan, wanted: readonly Wanted[], order: RowOrder): readonly number[] | null {
    const id = wanted.find((one) => one.kind === 'id');
    if (id !== undefined) {
      const number = this.#numberOf(id.text);
      return this.#paged(plan, order, number >= 0 && this.#matches(wanted, number) ? [number] : []);
    }
    const values = valuesIn(wanted);
    const exact = this.#indexOf(values, order);
    if (exact !== undefined) {
      const hash = exact.hashOfValues(values.map(({ bytes }) => bytes));
      return this.#scan(exact, hash, plan, values.length === wanted.length, wanted);
    }
    if (this.#rows.live <= this.#mostCompared) return this.#compared(this.#ids, 0, plan, wanted, order);
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
    if (this.#rows.live <= this.#mostCompared) {
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
