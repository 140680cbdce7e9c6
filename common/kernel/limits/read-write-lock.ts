import { untilAborted } from './deadline.ts';

/**
 * A read-write lock for each key. Work on many keys at once is never held up by a key that is locked: it asks
 * `isLocked`, and leaves that key for later. Work that has a key alone waits for the work on it that is under way.
 */
export class ReadWriteLock {
  readonly #shared = new Map<string, number>();
  readonly #locked = new Map<string, Promise<void>>();
  readonly #waiting = new Map<string, () => void>();

  /** Whether some work has the key alone, or is about to. */
  isLocked(key: string): boolean {
    return this.#locked.has(key);
  }

  /** Resolves when one of the locked keys is unlocked. */
  async changed(): Promise<void> {
    await Promise.race(this.#locked.values());
  }

  /** Runs work on keys that are not locked, beside other such work. */
  async shared(keys: Iterable<string>, work: () => Promise<void>): Promise<void> {
    const held = new Set(keys);
    for (const key of held) this.#shared.set(key, (this.#shared.get(key) ?? 0) + 1);
    try {
      await work();
    } finally {
      for (const key of held) this.#leave(key);
    }
  }

  /** Runs work when the key is not locked, beside other such work. Rejects when the signal is aborted before. */
  async whenShared<Result>(key: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    while (this.#locked.has(key)) await untilAborted(this.#locked.get(key) as Promise<void>, signal);
    // abandoned work is not begun: nobody waits for it
    signal.throwIfAborted();
    this.#shared.set(key, (this.#shared.get(key) ?? 0) + 1);
    try {
      return await work();
    } finally {
      this.#leave(key);
    }
  }

  /** Runs work while no other work has the key: one at a time. */
  async exclusive<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    while (this.#locked.has(key)) await this.#locked.get(key);
    let unlock: () => void = () => {};
    this.#locked.set(
      key,
      new Promise((resolve) => {
        unlock = resolve;
      }),
    );
    try {
      if (this.#shared.has(key)) await new Promise<void>((resolve) => this.#waiting.set(key, resolve));
      return await work();
    } finally {
      this.#locked.delete(key);
      unlock();
    }
  }

  #leave(key: string): void {
    const left = (this.#shared.get(key) as number) - 1;
    if (left > 0) {
      this.#shared.set(key, left);
      return;
    }
    this.#shared.delete(key);
    this.#waiting.get(key)?.();
    this.#waiting.delete(key);
  }
}
