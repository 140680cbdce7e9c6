import type { ActiveSpan } from './active-span.ts';
import type { FinishedRequest } from './http-observer.ts';
import type { ObserveCall } from './observe-call.ts';

/** The span of a request. */
export interface RequestSpan extends ActiveSpan {
  /** @param code of the error response, if any */
  end(request: FinishedRequest, code: string | undefined): void;
}

/** A request that may get a span. Its headers may name the trace that it belongs to. */
export interface TracedExchange {
  readonly method: string;
  header(name: string): string | undefined;
  span: RequestSpan | undefined;
}

/** Sends the spans of requests to an OpenTelemetry collector. */
export interface Tracing {
  /** Serves a request within a span of its own. */
  serve<Exchange extends TracedExchange>(exchange: Exchange, begin: (exchange: Exchange) => void): void;
  /** Makes each call a child span of its request; a call outside a request has no span. */
  traced(observe: ObserveCall): ObserveCall;
  /** Sends the remaining spans. */
  close(): Promise<void>;
}

/** Nothing is traced. */
export const untraced: Tracing = {
  serve: (exchange, begin) => begin(exchange),
  traced: (observe) => observe,
  async close() {},
};
