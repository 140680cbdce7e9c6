import type { Search } from '../input/parse-search.ts';
import { type Span, valueSpan } from '../sql/packed-row.ts';
import { slotOf } from '../structure/slots.ts';
import { nameOf } from './row-order.ts';

/** Bytes of texts times the characters that each may be compared with: more would keep the event loop for too long. */
const mostWork = 16 * 1024 ** 2;

const span: Span = { start: 0, end: 0 };

/** Finds a text in fields of packed rows, letter case ignored, as `containsSql` does. */
export class TextSearch {
  readonly #slots: readonly Uint8Array[];
  readonly #pattern: RegExp;
  readonly #costPerByte: number;
  #left = mostWork;

  constructor({ text, fields }: Pick<Search, 'text' | 'fields'>) {
    this.#slots = fields.map((field) => nameOf(slotOf(field)));
    this.#pattern = new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu');
    this.#costPerByte = Math.max(1, text.length);
  }

  /** Whether there was more to compare than may be: then nobody knows what is in the rest. */
  get gaveUp(): boolean {
    return this.#left < 0;
  }

  isIn(bytes: Buffer, row: number): boolean {
    return this.#slots.some((slot) => {
      if (this.gaveUp || !valueSpan(bytes, row, slot, span)) return false;
      const { start, end } = span;
      this.#left -= (end - start) * this.#costPerByte;
      return !this.gaveUp && this.#pattern.test(bytes.toString('utf8', start, end));
    });
  }
}
