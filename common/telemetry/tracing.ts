import type { ActiveSpan } from './active-span.ts';
import type { FinishedRequest } from './http-observer.ts';
import type { ObserveCall } from './observe-call.ts';

/** The span of a request that is served. */
export interface RequestSpan extends ActiveSpan {
  /** @param code of the error that was answered, if it was one */
  end(request: FinishedRequest, code: string | undefined): void;
}

/** What the HTTP server does with traces. */
export interface RequestTracing {
  /** @param header of the request, which may say that it belongs to a trace */
  begin(method: string, header: (name: string) => string | undefined): RequestSpan;
}

/** Tells a collector of OpenTelemetry what requests were made of. */
export interface Tracing extends RequestTracing {
  /** Makes each call a span of the request that it is done for; what is done for none has none. */
  traced(observe: ObserveCall): ObserveCall;
  /** Sends what has not been sent. */
  close(): Promise<void>;
}
