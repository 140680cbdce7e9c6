import { untilAborted } from '#kernel/limits/deadline.ts';

/** The deadline of a statement. Milliseconds. */
const statementLimit = 30_000;
const namesAtOnce = 500;

interface Gathered<Answer> {
  readonly names: Set<string>;
  readonly answer: Promise<Answer>;
}

/**
 * Batches statements about names. One name costs milliseconds, many cost little more: names that come while a statement
 * runs gather for the next.
 */
export class GatheredNames<Answer> {
  readonly #run: (names: readonly string[], signal: AbortSignal) => Promise<Answer>;
  #last: Promise<unknown> = Promise.resolve();
  #next: Gathered<Answer> | null = null;

  /** @param run one statement for all names */
  constructor(run: (names: readonly string[], signal: AbortSignal) => Promise<Answer>) {
    this.#run = run;
  }

  /** @returns the answer to the statement that this name is in */
  async run(name: string, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    if (this.#next === null || this.#next.names.size >= namesAtOnce) this.#next = this.#prepare();
    this.#next.names.add(name);
    return untilAborted(this.#next.answer, signal);
  }

  #prepare(): Gathered<Answer> {
    const names = new Set<string>();
    const answer = this.#last
      .catch(() => {})
      .then(() => {
        // requests from now on need the next one
        if (this.#next?.names === names) this.#next = null;
        return this.#run([...names], AbortSignal.timeout(statementLimit));
      });
    this.#last = answer;
    answer.catch(() => {});
    return { names, answer };
  }
}
