import { untilAborted } from '#kernel/limits/deadline.ts';

/** The deadline of a statement. Milliseconds. */
const statementLimit = 30_000;
const namesAtOnce = 500;

interface NameBatch<Answer> {
  readonly names: Set<string>;
  readonly answer: Promise<Answer>;
}

/**
 * Batches statements about names. A statement costs milliseconds, however few its names: names that arrive while one
 * runs are gathered for the next.
 */
export class NameBatcher<Answer> {
  readonly #run: (names: readonly string[], signal: AbortSignal) => Promise<Answer>;
  #last: Promise<unknown> = Promise.resolve();
  #next: NameBatch<Answer> | null = null;

  /** @param run one statement for all names */
  constructor(run: (names: readonly string[], signal: AbortSignal) => Promise<Answer>) {
    this.#run = run;
  }

  /** @returns the answer to the whole batch of this name */
  async run(name: string, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    if (this.#next === null || this.#next.names.size >= namesAtOnce) this.#next = this.#prepare();
    this.#next.names.add(name);
    return untilAborted(this.#next.answer, signal);
  }

  #prepare(): NameBatch<Answer> {
    const names = new Set<string>();
    const answer = this.#last
      .catch(() => {})
      .then(() => {
        // names from now on go into the next batch
        if (this.#next?.names === names) this.#next = null;
        return this.#run([...names], AbortSignal.timeout(statementLimit));
      });
    this.#last = answer;
    answer.catch(() => {});
    return { names, answer };
  }
}
