import { LRUCache } from 'lru-cache';
import { upTo } from '#kernel/limits/up-to.ts';

const mostSpaces = 10_000;

/**
 * Counts how often a space's structure flaps back to an earlier one. While clients of two versions run that differ in a
 * flag, every other request switches it, and each switch is a write that all others wait for.
 */
export class ChangeLimit {
  readonly #counts: LRUCache<string, number>;
  readonly #limit: number;

  /** @param args.per milliseconds @param args.limit changes in that time */
  constructor({ per, limit }: { per: number; limit: number }) {
    this.#limit = limit;
    // the time begins with the first change
    this.#counts = new LRUCache({ ...upTo(mostSpaces), ttl: per, noUpdateTTL: true });
  }

  note(spaceId: string): void {
    this.#counts.set(spaceId, (this.#counts.get(spaceId) ?? 0) + 1);
  }

  reached(spaceId: string): boolean {
    return (this.#counts.get(spaceId) ?? 0) >= this.#limit;
  }
}
