import { type ErrorCode, errorCodes } from './error-codes.ts';

/** Seconds after which a retry makes sense, by default. */
const usualWait = '1';

interface ErrorDetails {
  readonly problems?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/**
 * An error for clients: a stable machine `code`, an HTTP status, and every problem found. Any other thrown error is
 * logged in full and shown as `internal_error`.
 */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  /** One text for each problem; clients read them as `error`. Never empty. */
  readonly problems: readonly string[];
  /** Extra response headers, such as `Allow`; lower-case names. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, more: ErrorDetails = {}) {
    const { problems, headers, cause } = more;
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ApiError';
    this.code = code;
    this.status = errorCodes[code].status;
    this.problems = problems?.length ? problems : [message];
    // RFC 6585 section 4, RFC 9110 section 15.6.4: when the client may retry
    const again = this.status === 429 || this.status === 503;
    this.headers = { ...(again ? { 'retry-after': usualWait } : {}), ...headers };
  }
}
