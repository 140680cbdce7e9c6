import { settledWithin } from '#kernel/limits/deadline.ts';

/** More at once are left to the janitor: a store that is gone fails many uploads, and each tries for a while. */
const mostAtOnce = 1000;

/** Cleaning up after failed writes, which continues behind their answers. */
export class Cleanups {
  readonly #underWay = new Set<Promise<void>>();

  /**
   * Begins the work, and resolves when it is done. Answers false when there is too much under way: then it is not
   * begun. @param work never rejects, and ends by itself
   */
  async run(work: () => Promise<void>): Promise<boolean> {
    if (this.#underWay.size >= mostAtOnce) return false;
    const done = work().finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
    await done;
    return true;
  }

  /** Resolves when nothing is under way, or after the time. Answers the number of cleanups under way. */
  async settled(milliseconds: number): Promise<number> {
    await settledWithin(Promise.all(this.#underWay), milliseconds);
    return this.#underWay.size;
  }
}
