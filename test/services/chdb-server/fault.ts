/** What goes wrong with statements that match. */
export interface Fault {
  /** A regular expression over the statement's first characters. */
  readonly match: string;
  /** How many statements it strikes; absent: one. */
  readonly times?: number;
  readonly action: FaultAction;
}

export type FaultAction =
  /** Answers a status without running the statement, as a proxy or an overloaded server does. */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly body: string;
      readonly exceptionCode?: number;
    }
  /** Resets the connection when the statement has arrived, and does not run it. */
  | { readonly kind: 'cut-before' }
  /** Runs it, then resets the connection without an answer. */
  | { readonly kind: 'cut-after' }
  /** Resets the connection, and runs the statement so much later. */
  | { readonly kind: 'cut-and-run'; readonly milliseconds: number }
  /** Ends the connection so far into the answer's data. */
  | { readonly kind: 'cut-middle'; readonly bytes: number }
  /** Ends the answer so far into its data in the way that the engine does when it fails, but with a whole encoding. */
  | { readonly kind: 'fail-middle'; readonly bytes: number }
  /** Runs it when `release` is called. */
  | { readonly kind: 'hold' };

/** Characters of a statement that faults look at, and that the log keeps. */
export const shownStatement = 2000;

/** The faults to come, and the statements that wait for a release. */
export class Faults {
  readonly #faults: { readonly pattern: RegExp; left: number; readonly action: FaultAction }[] = [];
  #held: (() => void)[] = [];

  add({ match, times = 1, action }: Fault): void {
    this.#faults.push({ pattern: new RegExp(match), left: times, action });
  }

  clear(): void {
    this.#faults.length = 0;
    this.release();
  }

  /** The fault that strikes this statement, which is one of its times. */
  strike(statement: string): FaultAction | null {
    const fault = this.#faults.find(({ pattern, left }) => left > 0 && pattern.test(statement));
    if (fault === undefined) return null;
    fault.left--;
    return fault.action;
  }

  hold(): Promise<void> {
    return new Promise((resolve) => this.#held.push(resolve));
  }

  release(): void {
    const held = this.#held;
    this.#held = [];
    for (const resume of held) resume();
  }

  get held(): number {
    return this.#held.length;
  }
}
