/** A store is down, or rejects all of our requests. The message is for the log; clients get a 503, which may name a reason. */
export class StoreUnavailable extends Error {
  /** What the operator should do, in one sentence without a secret; undefined: the store does not respond. */
  readonly problem: string | undefined;
  /** What clients may know, as they may wait for it to end; undefined: nothing. */
  readonly shown: string | undefined;

  constructor(
    message: string,
    {
      cause,
      problem,
      shown,
    }: {
      readonly cause?: unknown;
      readonly problem?: string | undefined;
      readonly shown?: string | undefined;
    } = {},
  ) {
    super(message, { cause });
    this.name = 'StoreUnavailable';
    this.problem = problem;
    this.shown = shown;
  }
}
