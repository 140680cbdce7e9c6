import { ApiError } from '../errors/api-error.ts';
import { renderError, visibleError } from '../errors/render-error.ts';
import type { Exchange } from './exchange.ts';
import type { HttpResponse } from './http-types.ts';
import type { Failure } from './log-request.ts';

/** Notes what went wrong with a request, for its line in the log, and makes the answer that the client may see. */
export function failureAnswer(exchange: Exchange, thrown: unknown): HttpResponse {
  const error = visibleError(exchange.abortReason ?? thrown);
  exchange.failure = { ...howFailed(exchange, thrown, error), code: error.code };
  const { id, path } = exchange;
  return { status: error.status, ...renderError(error, { id, path, accept: exchange.header('accept') }) };
}

function howFailed(
  { aborted }: Exchange,
  thrown: unknown,
  { status, cause }: ApiError,
): Omit<Failure, 'code'> {
  if (aborted) return { level: 'debug', text: 'request ended without its client', err: thrown };
  if (status > 500 && cause !== undefined) {
    // a store that is away, overloaded or full, which its operator should hear of
    return { level: 'warn', text: 'request failed for now', err: thrown };
  }
  if (thrown instanceof ApiError && status !== 500) return { level: 'info', text: 'request refused' };
  return { level: 'error', text: 'request failed', err: thrown };
}
