import { AsyncLocalStorage } from 'node:async_hooks';

/** What a trace calls a piece of work; the SDK's span, for all that others need to know of it. */
export interface ActiveSpan {
  readonly traceId: string;
  readonly spanId: string;
}

/** Not switched on, and so without a cost, before the first span is active. */
const storage = new AsyncLocalStorage<ActiveSpan>();

/** The span of the request that this code runs for; undefined: there is none, or nothing is traced. */
export function activeSpan(): ActiveSpan | undefined {
  return storage.getStore();
}

/** Runs work as a part of a span. */
export function withActiveSpan<Result>(span: ActiveSpan | undefined, work: () => Result): Result {
  return span === undefined ? work() : storage.run(span, work);
}
