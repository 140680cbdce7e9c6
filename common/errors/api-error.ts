/**
 * An error that a client is meant to see: a stable machine `code`, an HTTP status, and every problem found.
 * Anything else that is thrown is logged in full and shown as `internal_error`.
 */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;
  /** One text a problem; the client reads them as `error`. Never empty. */
  readonly problems: readonly string[];
  /** Extra answer headers, such as `Allow`; lower-case names. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(args: {
    code: string;
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
    this.headers = args.headers ?? {};
  }
}
