import type { ApiError } from './api-error.ts';

/**
 * A write statement was interrupted: the connection broke, or the engine ended. The caller has to check whether it took
 * effect; a retry may apply it twice.
 */
export class UnknownOutcome extends Error {
  /** The answer if a check finds nothing written; absent: the write may still take effect. */
  readonly refusal: ApiError | undefined;

  constructor(cause: unknown, refusal?: ApiError) {
    super('a write to the database was interrupted: it may or may not have taken effect', { cause });
    this.name = 'UnknownOutcome';
    this.refusal = refusal;
  }
}
