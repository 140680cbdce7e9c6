import type { Filter } from '../input/filters/filter.ts';
import { filterTest, type ReadValue, valueOfText } from '../input/filters/filter-test.ts';
import { createdAt, idSpan, type Span, updatedAt, valueSpan } from '../sql/packed-row.ts';
import { slotOf } from '../structure/slots.ts';
import { nameOf } from './row-order.ts';

/** Bytes of values that are compared for one request: more would keep the event loop for too long. */
const mostBytes = 1024 ** 2;

interface Place {
  bytes: Buffer;
  row: number;
}

const span: Span = { start: 0, end: 0 };

/** Finds packed rows that meet filters. */
export class FilterRows {
  readonly tests: readonly ((bytes: Buffer, row: number) => boolean)[];
  #left = mostBytes;

  constructor(filters: readonly Filter[]) {
    const place: Place = { bytes: Buffer.alloc(0), row: 0 };
    this.tests = filters.map((filter) => {
      const test = filterTest(filter, this.#valueOf);
      return (bytes, row) => {
        place.bytes = bytes;
        place.row = row;
        return !this.gaveUp && test(place);
      };
    });
  }

  /** Whether there was more to compare than may be: then nobody knows what the rest meets. */
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
      this.#left -= span.end - span.start;
      return this.gaveUp ? undefined : valueOfText(target, bytes.toString('utf8', span.start, span.end));
    };
  };
}
