import type { RecordSpace } from '../structure/record-space.ts';

/** Keys of requests, by their question and the view that they see: of one space, of one account. */
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
