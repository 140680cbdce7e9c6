import { settledWithin } from '#kernel/limits/deadline.ts';

/** Most concurrent cleanups; the janitor does the rest. When the store is down many uploads fail, and each cleanup retries for a while. */
const mostAtOnce = 1000;

/** Cleanups after failed writes, which continue after the answers. */
export class Cleanups {
  readonly #underWay = new Set<Promise<void>>();

  /**
   * Starts the work, and resolves when it is done. Returns false, and doesn't start it, if too many are running.
   * @param work never rejects, and ends by itself
   */
  async run(work: () => Promise<void>): Promise<boolean> {
    if (this.#underWay.size >= mostAtOnce) return false;
    const done = work().finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
    await done;
    return true;
  }

  /** Resolves when no cleanup is running, or after the time. Returns the number of running cleanups. */
  async settled(milliseconds: number): Promise<number> {
    await settledWithin(Promise.all(this.#underWay), milliseconds);
    return this.#underWay.size;
  }
}
