/** A store is down, or does not accept us, whatever it is asked. The message is for the log; clients get a 503. */
export class StoreUnavailable extends Error {
  /** The remedy for the operator, in one sentence without a secret; undefined: the store does not answer. */
  readonly problem: string | undefined;

  constructor(message: string, { cause, problem }: { cause: unknown; problem: string | undefined }) {
    super(message, { cause });
    this.name = 'StoreUnavailable';
    this.problem = problem;
  }
}
