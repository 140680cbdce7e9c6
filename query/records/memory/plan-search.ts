import type { Comparison } from '../input/filters/filter.ts';
import type { Condition } from '../input/parse-conditions.ts';
import type { ReadPlan } from '../input/read-plan.ts';
import { type Bounds, boundsOf, comparisonsIn } from './bounds.ts';
import { allOf, anyOf, FilterRows, type RowTest } from './filter-rows.ts';
import { isBehind, type OrderedIndex, type Position } from './ordered-index.ts';
import { compareProbes, type Probe, probeAfter, probeOf } from './probe.ts';
import {
  type RowCondition,
  rowConditionOf,
  testOf,
  type ValueCondition,
  valueConditionOf,
  valuesIn,
} from './row-condition.ts';
import { idOrder, orderKey, orderOf, type RowOrder, sameOrder } from './row-order.ts';
import type { RowSlabs } from './row-slabs.ts';

/** The most rows of an answer made in one step, which blocks the event loop. */
const mostRows = 1000;
/** Rows that are compared one by one for a request. */
const usualCompared = 500;
/** Values of one list that are looked up: each takes as long as comparing several rows. */
const mostValues = 500;

interface RowSearch extends Pick<ReadPlan, 'page' | 'sort'> {
  readonly order: RowOrder;
  /** Conditions that a row meets, all or one of them. */
  readonly wanted: readonly RowCondition[];
  /** Further conditions that rows have to meet. */
  readonly filters: FilterRows;
  readonly isMet: RowTest;
}

/** Finds the rows of a plan in a table, by the existing indexes. */
export class PlanSearch {
  readonly #rows: RowSlabs;
  readonly #ids: OrderedIndex;
  readonly #indexes: readonly OrderedIndex[];
  readonly #numberOf: (id: string) => number;
  readonly #mostCompared: number;
  #uses = 0;

  /** @param args.indexes the current indexes @param args.numberOf number of the record with an id; -1: none */
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

  /** Notes that an index served a request, or was built for the next ones. */
  used(index: OrderedIndex): void {
    index.lastUse = ++this.#uses;
  }

  /** Numbers of records with a value in a slot, oldest first; null: memory can't answer. */
  lookUp(slot: string, text: string): readonly number[] | null {
    return this.#findAll(all([valueConditionOf(slot, text)]));
  }

  /** The rows of a plan; null: memory can't answer. */
  find(plan: ReadPlan): readonly number[] | null {
    const { conditions, page, sort } = plan;
    if (conditions.hashed.length > 0) return null;
    const wanted = conditions.plain.map(rowConditionOf);
    const filters = new FilterRows(conditions.others);
    const tests = [...wanted.map(testOf), ...filters.tests];
    const isAny = conditions.relationship === 'Or' && tests.length > 1;
    const isMet = isAny ? anyOf(tests) : allOf(tests);
    const search: RowSearch = { page, sort, order: orderOf(sort), wanted, filters, isMet };
    const found = isAny ? this.#findAny(search) : this.#findAll(search);
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

  #findAll(search: RowSearch): readonly number[] | null {
    const { wanted, order, filters } = search;
    const id = wanted.find((one) => one.kind === 'id');
    if (id !== undefined) {
      const number = this.#numberOf(id.text);
      return this.#paged(search, number >= 0 && this.#isMet(search, number) ? [number] : []);
    }
    const values = valuesIn(wanted);
    // with further conditions the number of comparisons for a full page is unknown
    const exact = filters.tests.length > 0 ? undefined : this.#indexOf(values, order);
    if (exact !== undefined) {
      const hash = exact.hashOfValues(values.map(({ bytes }) => bytes));
      return this.#by(exact, this.#scan(exact, hash, search, values.length === wanted.length));
    }
    if (this.#rows.live <= this.#mostCompared) return this.#compared(this.#ids, 0, search);
    for (const index of this.#indexes) {
      const some = values.filter(({ slot }) => index.slots.includes(slot));
      if (some.length === 0 || some.length < index.slots.length) continue;
      const hash = index.hashOfValues(some.map(({ bytes }) => bytes));
      if (!index.hasMore(hash, this.#mostCompared))
        return this.#by(index, this.#compared(index, hash, search));
    }
    return filters.tests.length > 0 ? this.#filtered(search, values) : null;
  }

  #by(index: OrderedIndex, found: readonly number[] | null): readonly number[] | null {
    if (found !== null) this.used(index);
    return found;
  }

  /** By an index of the bounded value, or by the values of a list. */
  #filtered(search: RowSearch, values: readonly ValueCondition[]): readonly number[] | null {
    const comparisons = comparisonsIn(search.filters.filters);
    for (const index of this.#indexes) {
      const bounds = boundsOf(comparisons, index.order);
      const own = values.filter(({ slot }) => index.slots.includes(slot));
      if (bounds === null || own.length < index.slots.length) continue;
      const hash = index.hashOfValues(own.map(({ bytes }) => bytes));
      const found = this.#by(index, this.#between(index, hash, bounds, search));
      if (found !== null) return found;
    }
    for (const { target, operator, values } of comparisons) {
      if (operator !== 'in' || values.length > mostValues) continue;
      const found = this.#findByValues(
        search,
        values.map((value) => rowConditionOf({ target, value })),
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
    search: RowSearch,
  ): readonly number[] | null {
    const { page, order, filters, isMet } = search;
    const first = from === undefined ? index.begin(hash) : firstOf(index, hash, from);
    const isInOrder = sameOrder(index.order, order);
    const begun = isInOrder && page?.after !== undefined ? this.#begin(index, hash, search) : first;
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
    return this.#paged(search, isInOrder ? found : this.#sorted(found, order));
  }

  /** By an index of just these values in just this order. */
  #scan(index: OrderedIndex, hash: number, search: RowSearch, covered: boolean): readonly number[] | null {
    const { page } = search;
    const position = this.#begin(index, hash, search);
    if (position === null) return null;
    const offset = page?.offset ?? 0;
    const isSure = covered && !index.isShared(hash);
    const first = index.rowAt(position, hash);
    // all rows of the hash have the same values: the wanted ones, or others with the same hash
    if (isSure && (first < 0 || !this.#isMet(search, first))) return [];
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
        if (this.#isMet(search, number) && --skip < 0) found.push(number);
      }
      index.next(position);
    }
    return few(found);
  }

  /** Where a page begins; null: can't be determined. */
  #begin(index: OrderedIndex, hash: number, search: RowSearch): Position | null {
    const after = search.page?.after;
    if (after === undefined) return index.begin(hash);
    const probe = probeAfter(search, after);
    if (probe === null) return null;
    const position = index.seek(hash, probe.key, probe);
    const number = index.rowAt(position, hash);
    if (number >= 0 && this.#compare(search.order, number, probe) === 0) index.next(position);
    return position;
  }

  /** Compares the few rows of a hash one by one. */
  #compared(index: OrderedIndex, hash: number, search: RowSearch): readonly number[] | null {
    const found: number[] = [];
    const position = index.begin(hash);
    for (let number = index.rowAt(position, hash); number >= 0; number = index.rowAt(position, hash)) {
      if (this.#isMet(search, number)) found.push(number);
      index.next(position);
    }
    return this.#paged(
      search,
      sameOrder(index.order, search.order) ? found : this.#sorted(found, search.order),
    );
  }

  #findAny(search: RowSearch): readonly number[] | null {
    if (this.#rows.live <= this.#mostCompared) return this.#compared(this.#ids, 0, search);
    return search.filters.tests.length > 0 ? null : this.#findByValues(search, search.wanted);
  }

  /** Rows that have one of several values, as far as they meet the rest. */
  #findByValues(search: RowSearch, wanted: readonly RowCondition[]): readonly number[] | null {
    const found = new Set<number>();
    for (const one of wanted) {
      const isTime = one.kind === 'createdAt' || one.kind === 'updatedAt';
      const numbers = isTime ? null : this.#findAll(all([one]));
      if (numbers === null || found.size + numbers.length > mostRows) return null;
      for (const number of numbers) found.add(number);
    }
    const met = [...found].filter((number) => this.#isMet(search, number));
    return this.#paged(search, this.#sorted(met, search.order));
  }

  #sorted(numbers: readonly number[], order: RowOrder): readonly number[] {
    const probes = numbers.map((number) => ({ number, ...this.#probeAt(order, number) }));
    return probes.sort((a, b) => compareProbes(order, a, b)).map(({ number }) => number);
  }

  /** @param found all matching rows, in order */
  #paged(search: RowSearch, found: readonly number[]): readonly number[] | null {
    const { page, order } = search;
    if (page === null) return few(found);
    const probe = page.after === undefined ? undefined : probeAfter(search, page.after);
    if (probe === null) return null;
    const behind = probe ? found.filter((number) => this.#compare(order, number, probe) > 0) : found;
    return few(behind.slice(page.offset, page.offset + page.limit));
  }

  /** Compares a row with another one in an order. */
  #compare(order: RowOrder, number: number, other: Probe): number {
    return compareProbes(order, this.#probeAt(order, number), other);
  }

  #probeAt(order: RowOrder, number: number): Probe {
    const [bytes, row] = [this.#rows.bufferOf(number), this.#rows.offsetOf(number)];
    return { key: orderKey(order, bytes, row), bytes, row };
  }

  #isMet({ isMet }: RowSearch, number: number): boolean {
    return isMet(this.#rows.bufferOf(number), this.#rows.offsetOf(number));
  }
}

/** Rows to look for: one more than an answer may have, to notice that there are too many. */
const atMost = (page: ReadPlan['page']): number => Math.min(page?.limit ?? Infinity, mostRows + 1);

const few = (found: readonly number[]): readonly number[] | null => (found.length > mostRows ? null : found);

/** Rows that meet conditions, the oldest first. */
function all(wanted: readonly RowCondition[]): RowSearch {
  const isMet = allOf(wanted.map(testOf));
  return { page: null, sort: null, order: idOrder, wanted, filters: noFilters, isMet };
}

const noFilters = new FilterRows([]);

/** Where the rows of a hash that meet a comparison begin; null: its value has no place in the order. */
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
