import type { ActiveSpan } from './active-span.ts';
import type { FinishedRequest } from './http-observer.ts';
import type { ObserveCall } from './observe-call.ts';

/** The span of a request that is served. */
export interface RequestSpan extends ActiveSpan {
  /** @param code of the error that was answered, if it was one */
  end(request: FinishedRequest, code: string | undefined): void;
}

/** Traces in the HTTP server. */
export interface RequestTracing {
  /** @param header of the request, which may say that it belongs to a trace */
  begin(method: string, header: (name: string) => string | undefined): RequestSpan;
}

/** Sends the spans of requests to a collector of OpenTelemetry. */
export interface Tracing extends RequestTracing {
  /** Makes each call a span of its request; a call for no request has none. */
  traced(observe: ObserveCall): ObserveCall;
  /** Sends the remaining spans. */
  close(): Promise<void>;
}
