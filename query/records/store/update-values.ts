import { LRUCache } from 'lru-cache';
import { upTo } from '#kernel/limits/up-to.ts';
import type { Log } from '#kernel/log/log.ts';
import type { Engine } from './record-store.ts';

/** After this many updates of a space, stale values are removed from the index. */
const most = 50_000;
/** Spaces whose updates are counted; the least recently used ones are forgotten. */
const spaces = 10_000;
/** Milliseconds. */
const timeout = 600_000;

/**
 * Garbage collection for the index of values (docs/records.md#the-index-of-values): each update of a record leaves an
 * entry in it. One space is tidied at a time, and nobody waits for it.
 */
export class UpdateValues {
  readonly #parts: Engine & { readonly log: Pick<Log, 'warn'>; readonly most: number };
  readonly #written = new LRUCache<string, number>({ ...upTo(spaces) });
  #running: Promise<void> = Promise.resolve();
  readonly #waiting = new Set<string>();

  constructor(parts: Engine & { readonly log: Pick<Log, 'warn'>; readonly most?: number }) {
    this.#parts = { most, ...parts };
  }

  /** To be called after updates. */
  wrote(spaceIds: Iterable<string>): void {
    for (const id of spaceIds) {
      const count = (this.#written.get(id) ?? 0) + 1;
      this.#written.set(id, count);
      if (count < this.#parts.most || this.#waiting.has(id)) continue;
      this.#waiting.add(id);
      this.#running = this.#running.then(() => this.#tidy(id));
    }
  }

  /** Resolves when no collection is running. */
  idle(): Promise<void> {
    return this.#running;
  }

  async #tidy(id: string): Promise<void> {
    const { db, table, log } = this.#parts;
    this.#waiting.delete(id);
    this.#written.set(id, 0);
    try {
      for (const statement of table.clearOldKeys(id))
        await db.command({ ...statement, signal: AbortSignal.timeout(timeout) });
    } catch (error) {
      log.warn({ err: error, space: id }, 'values that updates wrote are left for later');
    }
  }
}
