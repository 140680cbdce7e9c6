import type { After } from '../input/parse-after.ts';
import type { ReadPlan } from '../input/read-plan.ts';
import { RowWriter } from '../sql/packed-row.ts';
import { slotOf } from '../structure/slots.ts';
import { FilterRows } from './filter-rows.ts';
import type { OrderedIndex, Position } from './ordered-index.ts';
import { compareTie, idOrder, orderKey, orderOf, type RowOrder, sameOrder } from './row-order.ts';
import { RowSlabs } from './row-slabs.ts';
import { meets, valueWanted, type Wanted, wantedOf } from './wanted.ts';

/** Rows that an answer is made of at once: the event loop stands still meanwhile. */
const mostRows = 1000;
/** Rows that are compared one by one to find those of a request. */
const usualCompared = 500;

const writer = new RowWriter();

/** What rows are searched for. */
interface Asked extends Pick<ReadPlan, 'page' | 'sort'> {
  readonly order: RowOrder;
  /** Conditions that a row meets, all or one of them. */
  readonly wanted: readonly Wanted[];
  /** Rows have more to meet than those conditions: what, only `isMet` knows. */
  readonly isMore: boolean;
  /** Whether a row is one of those. */
  readonly isMet: RowTest;
}

/** A record behind which a page begins: a row, and its key in the order. */
interface Probe {
  readonly key: number;
  readonly bytes: Buffer;
  readonly row: number;
}

/** Finds the rows of a table that a plan asks for, by the indexes that there are. */
export class PlanSearch {
  readonly #rows: RowSlabs;
  readonly #ids: OrderedIndex;
  readonly #indexes: readonly OrderedIndex[];
  readonly #numberOf: (id: string) => number;
  readonly #mostCompared: number;

  /** @param args.indexes as they are when it is asked @param args.numberOf of the record with an id; -1: there is none */
  constructor(args: {
    readonly rows: RowSlabs;
    readonly ids: OrderedIndex;
    readonly indexes: readonly OrderedIndex[];
    readonly numberOf: (id: string) => number;
    readonly mostCompared: number | undefined;
  }) {
    this.#rows = args.rows;
    this.#ids = args.ids;
    this.#indexes = args.indexes;
    this.#numberOf = args.numberOf;
    this.#mostCompared = args.mostCompared ?? usualCompared;
  }

  /** Numbers of records that have a value in a slot, oldest first; null: memory is no help. */
  lookUp(slot: string, text: string): readonly number[] | null {
    return this.#findAll(all([valueWanted(slot, text)]));
  }

  /** Those that a plan asks for; null: memory is no help. */
  find(plan: ReadPlan): readonly number[] | null {
    const { conditions, page, sort } = plan;
    if (conditions.hashed.length > 0) return null;
    if (page !== null && page.limit > mostRows) return null;
    const wanted = conditions.plain.map(wantedOf);
    const filters = new FilterRows(conditions.others);
    const tests = [...wanted.map(testOf), ...filters.tests];
    const isAny = conditions.relationship === 'Or' && tests.length > 1;
    const asked: Asked = {
      ...{ page, sort, order: orderOf(sort), wanted },
      isMore: filters.tests.length > 0,
      isMet: isAny ? anyOf(tests) : allOf(tests),
    };
    const found = isAny ? this.#findAny(asked, filters.tests.length > 0) : this.#findAll(asked);
    return filters.gaveUp ? null : found;
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

  #findAll(asked: Asked): readonly number[] | null {
    const { wanted, order, isMore } = asked;
    const id = wanted.find((one) => one.kind === 'id');
    if (id !== undefined) {
      const number = this.#numberOf(id.text);
      return this.#paged(asked, number >= 0 && this.#isMet(asked, number) ? [number] : []);
    }
    const values = valuesIn(wanted);
    // where rows have more to meet, nobody knows how many are compared until a page is full
    const exact = isMore ? undefined : this.#indexOf(values, order);
    if (exact !== undefined) {
      const hash = exact.hashOfValues(values.map(({ bytes }) => bytes));
      return this.#scan(exact, hash, asked, values.length === wanted.length);
    }
    if (this.#rows.live <= this.#mostCompared) return this.#compared(this.#ids, 0, asked);
    for (const index of this.#indexes) {
      const some = values.filter(({ slot }) => index.slots.includes(slot));
      if (some.length === 0 || some.length < index.slots.length) continue;
      const hash = index.hashOfValues(some.map(({ bytes }) => bytes));
      if (!index.hasMore(hash, this.#mostCompared)) return this.#compared(index, hash, asked);
    }
    return null;
  }

  /** By an index of just these values in just this order. */
  #scan(index: OrderedIndex, hash: number, asked: Asked, covered: boolean): readonly number[] | null {
    const { page } = asked;
    const position = this.#begin(index, hash, asked);
    if (position === null) return null;
    const offset = page?.offset ?? 0;
    const isSure = covered && !index.isShared(hash);
    const first = index.rowAt(position, hash);
    // all rows of the hash have the same values: these, or those of another request
    if (isSure && (first < 0 || !this.#isMet(asked, first))) return [];
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
        if (this.#isMet(asked, number) && --skip < 0) found.push(number);
      }
      index.next(position);
    }
    return found;
  }

  /** Where a page begins; null: that can't be said. */
  #begin(index: OrderedIndex, hash: number, asked: Asked): Position | null {
    const after = asked.page?.after;
    if (after === undefined) return index.begin(hash);
    const probe = probeOf(asked, after);
    if (probe === null) return null;
    const position = index.seek(hash, probe.key, probe);
    const number = index.rowAt(position, hash);
    if (number >= 0 && this.#compare(asked.order, number, probe) === 0) index.next(position);
    return position;
  }

  /** Compares the few rows of a hash one by one. */
  #compared(index: OrderedIndex, hash: number, asked: Asked): readonly number[] | null {
    const found: number[] = [];
    const position = index.begin(hash);
    for (let number = index.rowAt(position, hash); number >= 0; number = index.rowAt(position, hash)) {
      if (this.#isMet(asked, number)) found.push(number);
      index.next(position);
    }
    if (!sameOrder(index.order, asked.order)) this.#sort(found, asked.order);
    return this.#paged(asked, found);
  }

  /** Rows that meet one of several conditions. */
  #findAny(asked: Asked, isByFilters: boolean): readonly number[] | null {
    if (this.#rows.live <= this.#mostCompared) return this.#compared(this.#ids, 0, asked);
    if (isByFilters) return null;
    const found = new Set<number>();
    for (const one of asked.wanted) {
      const isTime = one.kind === 'createdAt' || one.kind === 'updatedAt';
      const numbers = isTime ? null : this.#findAll(all([one]));
      if (numbers === null || found.size + numbers.length > this.#mostCompared) return null;
      for (const number of numbers) found.add(number);
    }
    const sorted = [...found].filter((number) => this.#isMet(asked, number));
    this.#sort(sorted, asked.order);
    return this.#paged(asked, sorted);
  }

  #sort(numbers: number[], order: RowOrder): void {
    const probes = new Map(numbers.map((number) => [number, this.#probeAt(order, number)]));
    numbers.sort((a, b) => this.#compare(order, a, probes.get(b) as Probe, probes.get(a)));
  }

  /** @param found all rows that are met, in order */
  #paged(asked: Asked, found: readonly number[]): readonly number[] | null {
    const { page, order } = asked;
    if (page === null) return found.length > mostRows ? null : found;
    if (page.after === undefined) return found.slice(page.offset, page.offset + page.limit);
    const probe = probeOf(asked, page.after);
    if (probe === null) return null;
    return found.filter((number) => this.#compare(order, number, probe) > 0).slice(0, page.limit);
  }

  /** How the row of a number stands to another one in an order. */
  #compare(order: RowOrder, number: number, other: Probe, own = this.#probeAt(order, number)): number {
    if (own.key !== other.key) return own.key < other.key ? -1 : 1;
    return compareTie(order, own.bytes, own.row, other.bytes, other.row);
  }

  #probeAt(order: RowOrder, number: number): Probe {
    const [bytes, row] = [this.#rows.bufferOf(number), this.#rows.offsetOf(number)];
    return { key: orderKey(order, bytes, row), bytes, row };
  }

  #isMet({ isMet }: Asked, number: number): boolean {
    return isMet(this.#rows.bufferOf(number), this.#rows.offsetOf(number));
  }
}

/** Rows that meet conditions, the oldest first. */
function all(wanted: readonly Wanted[]): Asked {
  const isMet = allOf(wanted.map(testOf));
  return { page: null, sort: null, order: idOrder, wanted, isMore: false, isMet };
}

type RowTest = (bytes: Buffer, row: number) => boolean;

function testOf(wanted: Wanted): RowTest {
  return (bytes, row) => meets(wanted, bytes, row);
}

function allOf(tests: readonly RowTest[]): RowTest {
  return (bytes, row) => tests.every((test) => test(bytes, row));
}

function anyOf(tests: readonly RowTest[]): RowTest {
  return (bytes, row) => tests.some((test) => test(bytes, row));
}

/** The record behind which a page begins; null: it can't stand in the order. */
function probeOf({ sort, order }: Asked, { id, values }: After): Probe | null {
  const _doc: Record<string, string> = {};
  const times = { createdAt: epoch, updatedAt: epoch };
  for (const [index, { target }] of (sort ?? []).entries()) {
    const value = values[index] ?? null;
    if (value === null || target === 'id') continue;
    if (typeof target === 'string') times[target] = (value as Date).toISOString();
    else _doc[slotOf(target)] = String(value);
  }
  const row = { _id: id, _created_at: times.createdAt, _updated_at: times.updatedAt, _doc };
  const bytes = writer.write(row, RowSlabs.largest);
  const key = bytes === null ? Number.NaN : orderKey(order, bytes, 0);
  return bytes === null || Number.isNaN(key) ? null : { key, bytes, row: 0 };
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
