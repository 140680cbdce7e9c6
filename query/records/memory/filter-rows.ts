import type { Filter } from '../input/filters/filter.ts';
import { filterTest, type ReadValue, valueOfText } from '../input/filters/filter-test.ts';
import { createdAt, idSpan, type Span, updatedAt, valueSpan } from '../sql/packed-row.ts';
import { slotOf } from '../structure/slots.ts';
import { nameOf } from './row-order.ts';

/**
 * Bytes of values compared for one request, times the characters of the longest text that each is compared
 * with: more would block the event loop for too long.
 */
const mostWork = 16 * 1024 ** 2;
/** Decoding a value to a text, or to JSON elements, takes as long as a comparison with this many characters. */
const leastWork = 16;
/** Decoding a short value takes as long as decoding this many bytes. */
const leastBytes = 32;

interface Place {
  bytes: Buffer;
  row: number;
}

export type RowTest = (bytes: Buffer, row: number) => boolean;

const span: Span = { start: 0, end: 0 };
const noBytes = Buffer.alloc(0);

export class FilterRows {
  readonly filters: readonly Filter[];
  readonly tests: readonly RowTest[];
  readonly #workOfByte: number;
  #left = mostWork;

  constructor(filters: readonly Filter[]) {
    this.filters = filters;
    this.#workOfByte = Math.max(leastWork, ...filters.map(longestText));
    this.tests = filters.map((filter) => this.testOf(filter));
  }

  /** Whether a row meets a filter. */
  testOf(filter: Filter): RowTest {
    const place: Place = { bytes: noBytes, row: 0 };
    const test = filterTest(filter, this.#valueOf);
    return (bytes, row) => {
      place.bytes = bytes;
      place.row = row;
      return !this.gaveUp && test(place);
    };
  }

  /** Whether the limit of comparisons was reached: then the rest of the rows is undecided. */
  get gaveUp(): boolean {
    return this.#left < 0;
  }

  readonly #valueOf: ReadValue<Place> = (target) => {
    if (target === 'createdAt') return ({ bytes, row }) => createdAt(bytes, row);
    if (target === 'updatedAt') return ({ bytes, row }) => updatedAt(bytes, row);
    const slot = target === 'id' ? null : nameOf(slotOf(target));
    return ({ bytes, row }) => {
      if (slot === null) idSpan(bytes, row, span);
      else if (!valueSpan(bytes, row, slot, span)) return undefined;
      this.#left -= Math.max(leastBytes, span.end - span.start) * this.#workOfByte;
      return this.gaveUp ? undefined : valueOfText(target, bytes.toString('utf8', span.start, span.end));
    };
  };
}

export function allOf(tests: readonly RowTest[]): RowTest {
  return (bytes, row) => tests.every((test) => test(bytes, row));
}

export function anyOf(tests: readonly RowTest[]): RowTest {
  return (bytes, row) => tests.some((test) => test(bytes, row));
}

/** Characters of the longest text that a value is compared with. Texts of a list are compared by their hashes. */
function longestText(filter: Filter): number {
  if ('group' in filter) return Math.max(0, ...filter.branches.map(longestText));
  const [text, ...more] = filter.values;
  return more.length === 0 && typeof text === 'string' ? text.length : 0;
}
