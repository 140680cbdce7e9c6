import type { ApiError } from './api-error.ts';

/**
 * A statement that writes was cut off: the connection broke, or the engine ended it. Whether it was carried out has to be
 * looked up, and doing it again may do it twice.
 */
export class UnknownOutcome extends Error {
  /** The answer where a look shows that nothing was written; absent: it may still be carried out. */
  readonly refusal: ApiError | undefined;

  constructor(cause: unknown, refusal?: ApiError) {
    super('a write to the database was cut off: it may or may not have been carried out', { cause });
    this.name = 'UnknownOutcome';
    this.refusal = refusal;
  }
}
