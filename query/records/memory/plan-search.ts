import type { Comparison } from '../input/filters/filter.ts';
import type { Condition } from '../input/parse-conditions.ts';
import type { ReadPlan } from '../input/read-plan.ts';
import { type Bounds, boundsOf, comparisonsIn } from './bounds.ts';
import { allOf, anyOf, FilterRows, type RowTest } from './filter-rows.ts';
import { isBehind, type OrderedIndex, type Position } from './ordered-index.ts';
import { compareProbes, type Probe, probeAfter, probeOf } from './probe.ts';
import { idOrder, orderKey, orderOf, type RowOrder, sameOrder } from './row-order.ts';
import type { RowSlabs } from './row-slabs.ts';
import { testOf, type ValueWanted, valuesIn, valueWanted, type Wanted, wantedOf } from './wanted.ts';

/** Rows that an answer is made of at once: the event loop stands still meanwhile. */
const mostRows = 1000;
/** Rows that are compared one by one to find those of a request. */
const usualCompared = 500;
/** Values of one list that are looked up: each takes as long as several rows that are compared. */
const mostValues = 500;

interface Asked extends Pick<ReadPlan, 'page' | 'sort'> {
  readonly order: RowOrder;
  /** Conditions that a row meets, all or one of them. */
  readonly wanted: readonly Wanted[];
  /** Further conditions that rows have to meet. */
  readonly filters: FilterRows;
  readonly isMet: RowTest;
}

/** Finds the rows of a table that a plan asks for, by the indexes that there are. */
export class PlanSearch {
  readonly #rows: RowSlabs;
  readonly #ids: OrderedIndex;
  readonly #indexes: readonly OrderedIndex[];
  readonly #numberOf: (id: string) => number;
  readonly #mostCompared: number;
  #uses = 0;

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

  /** An index served a request, or is there for those to come. */
  used(index: OrderedIndex): void {
    index.lastUse = ++this.#uses;
  }

  /** Numbers of records that have a value in a slot, oldest first; null: memory is no help. */
  lookUp(slot: string, text: string): readonly number[] | null {
    return this.#findAll(all([valueWanted(slot, text)]));
  }

  /** The rows of a plan; null: memory is no help. */
  find(plan: ReadPlan): readonly number[] | null {
    const { conditions, page, sort } = plan;
    if (conditions.hashed.length > 0) return null;
    const wanted = conditions.plain.map(wantedOf);
    const filters = new FilterRows(conditions.others);
    const tests = [...wanted.map(testOf), ...filters.tests];
    const isAny = conditions.relationship === 'Or' && tests.length > 1;
    const isMet = isAny ? anyOf(tests) : allOf(tests);
    const asked: Asked = { page, sort, order: orderOf(sort), wanted, filters, isMet };
    const found = isAny ? this.#findAny(asked) : this.#findAll(asked);
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
    const { wanted, order, filters } = asked;
    const id = wanted.find((one) => one.kind === 'id');
    if (id !== undefined) {
      const number = this.#numberOf(id.text);
      return this.#paged(asked, number >= 0 && this.#isMet(asked, number) ? [number] : []);
    }
    const values = valuesIn(wanted);
    // with further conditions the number of comparisons for a full page is unknown
    const exact = filters.tests.length > 0 ? undefined : this.#indexOf(values, order);
    if (exact !== undefined) {
      const hash = exact.hashOfValues(values.map(({ bytes }) => bytes));
      return this.#by(exact, this.#scan(exact, hash, asked, values.length === wanted.length));
    }
    if (this.#rows.live <= this.#mostCompared) return this.#compared(this.#ids, 0, asked);
    for (const index of this.#indexes) {
      const some = values.filter(({ slot }) => index.slots.includes(slot));
      if (some.length === 0 || some.length < index.slots.length) continue;
      const hash = index.hashOfValues(some.map(({ bytes }) => bytes));
      if (!index.hasMore(hash, this.#mostCompared))
        return this.#by(index, this.#compared(index, hash, asked));
    }
    return filters.tests.length > 0 ? this.#filtered(asked, values) : null;
  }

  #by(index: OrderedIndex, found: readonly number[] | null): readonly number[] | null {
    if (found !== null) this.used(index);
    return found;
  }

  /** By an index of the bounded value, or by the values of a list. */
  #filtered(asked: Asked, values: readonly ValueWanted[]): readonly number[] | null {
    const comparisons = comparisonsIn(asked.filters.filters);
    for (const index of this.#indexes) {
      const bounds = boundsOf(comparisons, index.order);
      const own = values.filter(({ slot }) => index.slots.includes(slot));
      if (bounds === null || own.length < index.slots.length) continue;
      const hash = index.hashOfValues(own.map(({ bytes }) => bytes));
      const found = this.#by(index, this.#between(index, hash, bounds, asked));
      if (found !== null) return found;
    }
    for (const { target, operator, values } of comparisons) {
      if (operator !== 'in' || values.length > mostValues) continue;
      const found = this.#findByValues(
        asked,
        values.map((value) => wantedOf({ target, value })),
      );
      if (found !== null) return found;
    }
    return null;
  }

  /** The rows of a hash between bounds. */
  #between(
    index: OrderedIndex,
    hash: number,
    { from, upTo }: Bounds,
    asked: Asked,
  ): readonly number[] | null {
    const { page, order, filters, isMet } = asked;
    const first = from === undefined ? index.begin(hash) : firstOf(index, hash, from);
    const isInOrder = sameOrder(index.order, order);
    const begun = isInOrder && page?.after !== undefined ? this.#begin(index, hash, asked) : first;
    const enough = isInOrder && page !== null ? page.offset + atMost(page) : mostRows + 1;
    if (first === null || begun === null || enough > 4 * mostRows) return null;
    const position = isBehind(begun, first) ? begun : first;
    const isWithin = allOf(upTo.map((one) => filters.testOf(one)));
    const found: number[] = [];
    let others = 0;
    for (let number = index.rowAt(position, hash); number >= 0; number = index.rowAt(position, hash)) {
      const [bytes, row] = [this.#rows.bufferOf(number), this.#rows.offsetOf(number)];
      if (isMet(bytes, row)) found.push(number);
      else if (!isWithin(bytes, row)) break;
      else if (++others > this.#mostCompared * 4) return null;
      if (found.length === enough) break;
      index.next(position);
    }
    if (found.length > mostRows && !isInOrder) return null;
    return this.#paged(asked, isInOrder ? found : this.#sorted(found, order));
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
    const limit = atMost(page);
    if (isSure) index.skip(position, hash, offset);
    let skip = isSure ? 0 : offset;
    let compared = 0;
    for (let number = index.rowAt(position, hash); number >= 0; number = index.rowAt(position, hash)) {
      if (found.length === limit) break;
      if (isSure) found.push(number);
      else {
        if (++compared > this.#mostCompared * 4) return null;
        if (this.#isMet(asked, number) && --skip < 0) found.push(number);
      }
      index.next(position);
    }
    return few(found);
  }

  /** Where a page begins; null: that can't be said. */
  #begin(index: OrderedIndex, hash: number, asked: Asked): Position | null {
    const after = asked.page?.after;
    if (after === undefined) return index.begin(hash);
    const probe = probeAfter(asked, after);
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
    return this.#paged(asked, sameOrder(index.order, asked.order) ? found : this.#sorted(found, asked.order));
  }

  #findAny(asked: Asked): readonly number[] | null {
    if (this.#rows.live <= this.#mostCompared) return this.#compared(this.#ids, 0, asked);
    return asked.filters.tests.length > 0 ? null : this.#findByValues(asked, asked.wanted);
  }

  /** Rows that have one of several values, as far as they meet the rest. */
  #findByValues(asked: Asked, wanted: readonly Wanted[]): readonly number[] | null {
    const found = new Set<number>();
    for (const one of wanted) {
      const isTime = one.kind === 'createdAt' || one.kind === 'updatedAt';
      const numbers = isTime ? null : this.#findAll(all([one]));
      if (numbers === null || found.size + numbers.length > mostRows) return null;
      for (const number of numbers) found.add(number);
    }
    const met = [...found].filter((number) => this.#isMet(asked, number));
    return this.#paged(asked, this.#sorted(met, asked.order));
  }

  #sorted(numbers: readonly number[], order: RowOrder): readonly number[] {
    const probes = numbers.map((number) => ({ number, ...this.#probeAt(order, number) }));
    return probes.sort((a, b) => compareProbes(order, a, b)).map(({ number }) => number);
  }

  /** @param found all rows that are met, in order */
  #paged(asked: Asked, found: readonly number[]): readonly number[] | null {
    const { page, order } = asked;
    if (page === null) return few(found);
    const probe = page.after === undefined ? undefined : probeAfter(asked, page.after);
    if (probe === null) return null;
    const behind = probe ? found.filter((number) => this.#compare(order, number, probe) > 0) : found;
    return few(behind.slice(page.offset, page.offset + page.limit));
  }

  /** How the row of a number stands to another one in an order. */
  #compare(order: RowOrder, number: number, other: Probe): number {
    return compareProbes(order, this.#probeAt(order, number), other);
  }

  #probeAt(order: RowOrder, number: number): Probe {
    const [bytes, row] = [this.#rows.bufferOf(number), this.#rows.offsetOf(number)];
    return { key: orderKey(order, bytes, row), bytes, row };
  }

  #isMet({ isMet }: Asked, number: number): boolean {
    return isMet(this.#rows.bufferOf(number), this.#rows.offsetOf(number));
  }
}

/** Rows to look for: one more than an answer may be made of says that there are too many. */
const atMost = (page: ReadPlan['page']): number => Math.min(page?.limit ?? Infinity, mostRows + 1);

const few = (found: readonly number[]): readonly number[] | null => (found.length > mostRows ? null : found);

/** Rows that meet conditions, the oldest first. */
function all(wanted: readonly Wanted[]): Asked {
  const isMet = allOf(wanted.map(testOf));
  return { page: null, sort: null, order: idOrder, wanted, filters: noFilters, isMet };
}

const noFilters = new FilterRows([]);

/** Where the rows of a hash begin that a comparison leaves; null: its value can't stand in the order. */
function firstOf(
  index: OrderedIndex,
  hash: number,
  { target, operator, values }: Comparison,
): Position | null {
  const value = values[0] as Condition['value'];
  const id = target === 'id' ? String(value) : '';
  const probe = probeOf(index.order, { id, targets: [target], values: [value] });
  const edge = operator === 'gt' || operator === 'lt' ? -1 : 1;
  return probe && index.seek(hash, probe.key, { edge, ...probe });
}
