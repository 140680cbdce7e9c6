import { AsyncLocalStorage } from 'node:async_hooks';

/** A span of a traced request, reduced to what other code needs. */
export interface ActiveSpan {
  readonly traceId: string;
  /** https://www.w3.org/TR/trace-context/#traceparent-header */
  readonly traceparent: string;
}

/** Created with the first active span, so that it costs nothing without tracing. */
const storage = new AsyncLocalStorage<ActiveSpan>();

/** The span of the current request; undefined: there is none, or tracing is off. */
export function activeSpan(): ActiveSpan | undefined {
  return storage.getStore();
}

/** Runs work within a span. */
export function withActiveSpan<Result>(span: ActiveSpan | undefined, work: () => Result): Result {
  return span === undefined ? work() : storage.run(span, work);
}

/** The header that passes the trace of a request to another system. */
export function traceHeaders(): Readonly<Record<string, string>> {
  const span = storage.getStore();
  return span === undefined ? noHeaders : { traceparent: span.traceparent };
}

const noHeaders = Object.freeze({});
