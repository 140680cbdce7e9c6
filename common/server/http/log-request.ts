import type { Log } from '#kernel/log/log.ts';
import type { ActiveSpan } from '#kernel/telemetry/active-span.ts';
import type { FinishedRequest } from '#kernel/telemetry/http-observer.ts';

/** The failure of a request, for its log line. */
export interface Failure {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly text: string;
  /** Code of the error response. */
  readonly code: string;
  readonly err?: unknown;
}

/**
 * Writes the log line of a request. It omits path, query, headers and body, because any of them may hold a token; the
 * operation and the error code identify the request and the reason of a refusal.
 */
export function logRequest(
  log: Log,
  request: FinishedRequest,
  {
    failure,
    aborted,
    span,
  }: {
    readonly failure: Failure | null;
    readonly aborted: boolean;
    readonly span: ActiveSpan | undefined;
  },
): void {
  if (failure === null && !log.isLevelEnabled('debug')) return;
  const facts = {
    requestId: request.id,
    operation: request.operation,
    method: request.method,
    status: request.status,
    userId: request.userId,
    bytesIn: request.bytesIn,
    bytesOut: request.bytesOut,
    milliseconds: Math.round(request.seconds * 1e6) / 1000,
    ...(aborted ? { clientGone: true } : {}),
    ...(span === undefined ? {} : { traceId: span.traceId }),
  };
  if (failure === null) {
    log.debug(facts, 'answered');
    return;
  }
  const { level, text, code, err } = failure;
  log[level]({ ...facts, code, ...(err === undefined ? {} : { err }) }, text);
}
