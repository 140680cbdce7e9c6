import type { ErrorCode } from './error-codes.ts';

/** After so many seconds another attempt makes sense, where nobody knows better. */
const usualWait = '1';

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

  constructor(args: {
    code: ErrorCode;
    status: number;
    message: string;
    problems?: readonly string[];
    headers?: Readonly<Record<string, string>>;
    cause?: unknown;
  }) {
    super(args.message, args.cause === undefined ? undefined : { cause: args.cause });
    this.name = 'ApiError';
    this.code = args.code;
    this.status = args.status;
    this.problems = args.problems?.length ? args.problems : [args.message];
    // RFC 6585 section 4, RFC 9110 section 15.6.4: who may try again learns when
    const again = args.status === 429 || args.status === 503;
    this.headers = { ...(again ? { 'retry-after': usualWait } : {}), ...args.headers };
  }
}
