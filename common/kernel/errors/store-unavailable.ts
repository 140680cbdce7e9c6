/** A store is down, or rejects all of our requests. The message is for the log; clients get a 503. */
export class StoreUnavailable extends Error {
  /** What the operator should do, in one sentence without a secret; undefined: the store does not respond. */
  readonly problem: string | undefined;

  constructor(message: string, { cause, problem }: { cause: unknown; problem: string | undefined }) {
    super(message, { cause });
    this.name = 'StoreUnavailable';
    this.problem = problem;
  }
}
