import { type ErrorCode, errorCodes } from './error-codes.ts';

/** Seconds after which another attempt makes sense, where nothing better is known. */
const usualWait = '1';

interface ErrorDetails {
  readonly problems?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/**
 * An error that a client is meant to see: a stable machine `code`, an HTTP status, and every problem found.
 * Anything else that is thrown is logged in full and shown as `internal_error`.
 */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  /** One text a problem; the client reads them as `error`. Never empty. */
  readonly problems: readonly string[];
  /** Extra answer headers, such as `Allow`; lower-case names. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, more: ErrorDetails = {}) {
    const { problems, headers, cause } = more;
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ApiError';
    this.code = code;
    this.status = errorCodes[code].status;
    this.problems = problems?.length ? problems : [message];
    // RFC 6585 section 4, RFC 9110 section 15.6.4: a client that may try again learns when
    const again = this.status === 429 || this.status === 503;
    this.headers = { ...(again ? { 'retry-after': usualWait } : {}), ...headers };
  }
}
