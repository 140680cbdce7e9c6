import type { Conditions } from '../input/parse-conditions.ts';
import type { RecordSpace } from '../structure/record-space.ts';

export interface KeptResults {
  /** The most bytes of a result that is kept. */
  readonly largest: number;
  /** A kept result; undefined: none. @param request the text of a request of this view, as received */
  get(view: RecordSpace, request: string): Uint8Array | undefined;
  /** Keeps a result that was made from rows in memory in this same step. */
  keep(view: RecordSpace, request: string, conditions: Conditions | null, result: Uint8Array): void;
  /** The result that another request for the same is reading, or has just read; null: there is none. */
  underway(view: RecordSpace, request: string): Promise<Uint8Array | null> | null;
  /**
   * Keeps the result of a read, and shares it with all requests that ask meanwhile. To be called in the step in which the
   * read begins. @param reading resolves with null when the result is too large to be shared or kept
   */
  share(
    view: RecordSpace,
    request: string,
    conditions: Conditions | null,
    reading: Promise<Uint8Array | null>,
  ): Promise<Uint8Array | null>;
}

/** A copy for the cache, if needed: a small buffer is a piece of a larger one, all of which would stay in memory. */
export function ownBytes(result: Uint8Array): Uint8Array {
  if (result.byteLength === result.buffer.byteLength) return result;
  const own = Buffer.allocUnsafeSlow(result.byteLength);
  own.set(result);
  return own;
}

export interface ReadCache {
  /**
   * To be called when a read begins, before it queries the database. A promise only where Redis has to be queried.
   * @param request as in `KeptResults`
   */
  at(view: RecordSpace, request: string): KeptResults | Promise<KeptResults>;
}

/** Cache keys of requests: their text, and the view of the space that they see. */
export class RequestKeys {
  readonly #views = new WeakMap<RecordSpace, number>();
  #next = 1;

  of(view: RecordSpace, request: string): string {
    let number = this.#views.get(view);
    if (number === undefined) {
      number = this.#next++;
      this.#views.set(view, number);
    }
    return `${number} ${request}`;
  }
}
