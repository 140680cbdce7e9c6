/**
 * Keeps statements that change a table's rows apart from work that needs the table to stay as it is: such work waits
 * for the statements of this process that are under way, and those that come meanwhile wait for it.
 */
export class TableTurns {
  readonly #running = new Map<string, Set<Promise<unknown>>>();
  readonly #held = new Map<string, Promise<unknown>>();

  /** Runs statements beside others. Without anything to wait for they begin at once. */
  async beside(table: string, work: () => Promise<void>): Promise<void> {
    while (this.#held.has(table)) await this.#held.get(table);
    const running = this.#running.get(table) ?? new Set();
    this.#running.set(table, running);
    const done = work();
    running.add(done);
    try {
      await done;
    } finally {
      running.delete(done);
      if (running.size === 0) this.#running.delete(table);
    }
  }

  /** Runs work while nothing else changes the table's rows. Such work goes one by one. */
  async alone<Result>(table: string, work: () => Promise<Result>): Promise<Result> {
    while (this.#held.has(table)) await this.#held.get(table);
    const result = Promise.allSettled(this.#running.get(table) ?? []).then(work);
    const end = result.then(
      () => {},
      () => {},
    );
    this.#held.set(table, end);
    try {
      return await result;
    } finally {
      this.#held.delete(table);
    }
  }
}
