import type { Invalidation, StreamPosition } from './invalidation.ts';

/** A moment before the store is read. */
export interface ReadMoment {
  /** Time by `performance.now()` or a test's clock. */
  readonly began: number;
  /** Null: a later change would not be announced. */
  readonly position: StreamPosition | null;
  /** Number of this process's earlier changes. */
  readonly changes: number;
}

export interface FreshnessLimits {
  readonly invalidation: Invalidation;
  /** Milliseconds, while changes are announced. */
  readonly announcedFor: number;
  /** Milliseconds in any case. */
  readonly otherwiseFor: number;
  readonly now?: (() => number) | undefined;
}

/**
 * Decides how long cached data is fresh: until this process changes it, or another one announces a change, and never
 * beyond its lifetime.
 */
export class Freshness {
  readonly #limits: FreshnessLimits;
  #changes = 0;

  constructor(limits: FreshnessLimits) {
    this.#limits = limits;
  }

  /** Call it before reading the store. */
  begin(): ReadMoment {
    const position = this.#limits.invalidation.position();
    return { began: this.#now(), position, changes: this.#changes };
  }

  /** Whether data read since then may be cached: this process made no change meanwhile. */
  mayKeep({ changes }: ReadMoment): boolean {
    return changes === this.#changes;
  }

  /** Whether data read at that moment is still fresh. @param otherwiseFor instead of the default lifetime */
  isFresh(id: string, { began, position }: ReadMoment, otherwiseFor = this.#limits.otherwiseFor): boolean {
    const { invalidation, announcedFor } = this.#limits;
    const age = this.#now() - began;
    if (position === null) return age <= otherwiseFor;
    if (invalidation.changedSince(id, position)) return false;
    return age <= otherwiseFor || (age <= announcedFor && invalidation.isCurrent());
  }

  /** Announces a stored change. Resolves with false when other processes could not be reached. */
  changed(id: string): Promise<boolean> {
    this.#changes++;
    return this.#limits.invalidation.publish(id);
  }

  #now(): number {
    return this.#limits.now?.() ?? performance.now();
  }
}
