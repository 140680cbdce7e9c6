import { AsyncLocalStorage } from 'node:async_hooks';

/** A piece of a traced request's work, as other code needs to know it. */
export interface ActiveSpan {
  readonly traceId: string;
  /** https://www.w3.org/TR/trace-context/#traceparent-header */
  readonly traceparent: string;
}

/** Not switched on, and so without a cost, before the first span is active. */
const storage = new AsyncLocalStorage<ActiveSpan>();

/** The span of this code's request; undefined: there is none, or nothing is traced. */
export function activeSpan(): ActiveSpan | undefined {
  return storage.getStore();
}

/** Runs work as a part of a span. */
export function withActiveSpan<Result>(span: ActiveSpan | undefined, work: () => Result): Result {
  return span === undefined ? work() : storage.run(span, work);
}

/** The header that gives another system the trace of a request. */
export function traceHeaders(): Readonly<Record<string, string>> {
  const span = storage.getStore();
  return span === undefined ? noHeaders : { traceparent: span.traceparent };
}

const noHeaders = Object.freeze({});
