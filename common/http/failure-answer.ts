import { ApiError } from '../errors/api-error.ts';
import { renderError, visibleError } from '../errors/render-error.ts';
import type { Log } from '../log/log.ts';
import type { Exchange } from './exchange.ts';
import type { HttpResponse } from './http-types.ts';

/** Logs what went wrong with a request, and makes the answer that the client may see. */
export function failureAnswer(exchange: Exchange, thrown: unknown, log: Log): HttpResponse {
  const error = visibleError(exchange.abortReason ?? thrown);
  const facts = {
    requestId: exchange.id,
    method: exchange.method,
    path: exchange.path,
    status: error.status,
    code: error.code,
  };
  if (exchange.aborted) log.debug({ ...facts, err: thrown }, 'request ended without its client');
  else if (thrown instanceof ApiError && error.status > 500 && thrown.cause !== undefined) {
    // a store that is away or overloaded, which its operator should hear of
    log.warn({ ...facts, err: thrown }, 'request failed for now');
  } else if (thrown instanceof ApiError && error.status !== 500) log.debug(facts, 'request refused');
  else log.error({ ...facts, err: thrown }, 'request failed');
  const { id, path } = exchange;
  return { status: error.status, ...renderError(error, { id, path, accept: exchange.header('accept') }) };
}
