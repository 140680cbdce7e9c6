import { ApiError } from './api-error.ts';
import { internalError, outcomeUnknown, storageFull, unavailable } from './catalogue.ts';
import { errorCodes } from './error-codes.ts';
import { isStorageFull } from './storage-full.ts';
import { StoreUnavailable } from './store-unavailable.ts';
import { UnknownOutcome } from './unknown-outcome.ts';

/** The ApiError that a client sees for a thrown value: known failures get their own, anything else is a bare internal error. */
export function visibleError(thrown: unknown): ApiError {
  if (isStorageFull(thrown)) return storageFull(thrown);
  if (thrown instanceof StoreUnavailable)
    return unavailable(thrown.shown ?? 'Files cannot be stored or read at the moment', thrown);
  if (thrown instanceof UnknownOutcome) return outcomeUnknown(thrown);
  if (isLate(thrown)) return unavailable('A part of the server did not answer in time', thrown);
  return thrown instanceof ApiError ? thrown : internalError(thrown);
}

/** Whether a deadline of ours has passed: of AbortSignal.timeout, or of common/kernel/limits/deadline.ts, which is above. */
function isLate(thrown: unknown): boolean {
  return thrown instanceof Error && (thrown.name === 'TimeoutError' || thrown.name === 'DeadlinePassed');
}

interface FailedRequest {
  readonly path: string;
  readonly id: string;
  /** The request's Accept header. */
  readonly accept: string | undefined;
}

/** The beginning of a problem's `type`; its machine code follows. */
export const problemTypePrefix = 'urn:problem-type:sluice:';
const problemType = 'application/problem+json';

/**
 * Headers and body of an error response, in the format that the client accepts: docs/api.md has ours, RFC 9457 the other.
 * common/server/openapi/error-answers.ts describes both.
 */
export function renderError(
  error: ApiError,
  { path, id, accept }: FailedRequest,
): { headers: Readonly<Record<string, string>>; body: string } {
  const timestamp = new Date().toISOString();
  if (accept !== undefined && prefersProblem(accept)) {
    const problem = {
      type: `${problemTypePrefix}${error.code}`,
      title: errorCodes[error.code].title,
      status: error.status,
      detail: error.message,
      instance: uriReference(path),
      code: error.code,
      errors: error.problems,
      timestamp,
      requestId: id,
    };
    return {
      headers: { 'content-type': problemType, vary: 'Accept', ...error.headers },
      body: JSON.stringify(problem),
    };
  }
  const body = {
    statusCode: error.status,
    code: error.code,
    message: error.message,
    error: error.problems,
    path,
    timestamp,
    requestId: id,
  };
  return {
    headers: { 'content-type': 'application/json; charset=utf-8', vary: 'Accept', ...error.headers },
    body: JSON.stringify(body),
  };
}

/** Whether an Accept header names problem details, and does not prefer our own format (RFC 9110 section 12.5.1). */
function prefersProblem(accept: string): boolean {
  const wanted = accept.toLowerCase();
  if (!wanted.includes(problemType)) return false;
  let problem = 0;
  let json = 0;
  for (const range of wanted.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    const quality = weight === undefined ? 1 : Number(weight.slice(2)) || 0;
    if (type === problemType) problem = Math.max(problem, quality);
    else if (type === 'application/json') json = Math.max(json, quality);
  }
  return problem > 0 && problem >= json;
}

/** Percent-encodes what RFC 3986 does not allow in a path. A path that begins with `//` would name a host. */
function uriReference(path: string): string {
  const encoded = path.replace(/[^!#-;=?-[\]_a-z~]|%(?![\dA-Fa-f]{2})/gu, encodeURIComponent);
  return encoded.startsWith('//') ? `/.${encoded}` : encoded;
}
