import { untilAborted } from './deadline.ts';

/**
 * A read-write lock for each key. A locked key never delays work on many keys at once: such
 * work checks `isLocked`, and leaves the key for later. Exclusive work on a key waits for the running work on it.
 */
export class ReadWriteLock {
  readonly #shared = new Map<string, number>();
  readonly #locked = new Map<string, Promise<void>>();
  readonly #waiting = new Map<string, () => void>();

  /** Whether exclusive work holds the key, or waits for it. */
  isLocked(key: string): boolean {
    return this.#locked.has(key);
  }

  /** Resolves when one of the locked keys is unlocked. */
  async changed(): Promise<void> {
    await Promise.race(this.#locked.values());
  }

  /** Runs shared work on keys that are not locked. */
  async shared(keys: Iterable<string>, work: () => Promise<void>): Promise<void> {
    const held = new Set(keys);
    for (const key of held) this.#shared.set(key, (this.#shared.get(key) ?? 0) + 1);
    try {
      await work();
    } finally {
      for (const key of held) this.#leave(key);
    }
  }

  /** Runs shared work as soon as the key is not locked. Rejects if the signal is aborted first. */
  async whenShared<Result>(key: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    while (this.#locked.has(key)) await untilAborted(this.#locked.get(key) as Promise<void>, signal);
    // nobody waits for aborted work, so it does not start
    signal.throwIfAborted();
    this.#shared.set(key, (this.#shared.get(key) ?? 0) + 1);
    try {
      return await work();
    } finally {
      this.#leave(key);
    }
  }

  /** Runs exclusive work on the key. */
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
