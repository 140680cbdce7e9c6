import type { Invalidation, StreamPosition } from './invalidation.ts';

/** Announces changes to other processes. */
export type Announcements = Pick<Invalidation, 'position' | 'changedSince' | 'isCurrent' | 'publish'>;

/** A moment before the store is read. */
export interface ReadMoment {
  /** By `performance.now()` or a test's clock. */
  readonly began: number;
  /** Null: a later change would not be announced. */
  readonly position: StreamPosition | null;
  /** How many changes this process had made before. */
  readonly changes: number;
}

/**
 * For how long data counts that was read from the store: until this process changes it, or another one announces a
 * change, and never longer than its time.
 */
export class Freshness {
  readonly #invalidation: Announcements | undefined;
  readonly #announcedFor: number;
  readonly #otherwiseFor: number;
  readonly #now: () => number;
  #changes = 0;

  /**
   * @param args.announcedFor while changes are announced @param args.otherwiseFor in any case. Milliseconds
   * @param args.invalidation absent: no other process announces changes
   */
  constructor(args: {
    readonly invalidation: Announcements | undefined;
    readonly announcedFor: number;
    readonly otherwiseFor: number;
    readonly now?: (() => number) | undefined;
  }) {
    this.#invalidation = args.invalidation;
    this.#announcedFor = args.announcedFor;
    this.#otherwiseFor = args.otherwiseFor;
    this.#now = args.now ?? (() => performance.now());
  }

  /** To be called before the store is read. */
  begin(): ReadMoment {
    return {
      began: this.#now(),
      position: this.#invalidation?.position() ?? null,
      changes: this.#changes,
    };
  }

  /** Whether what was read since may be kept: this process made no change meanwhile. */
  mayKeep({ changes }: ReadMoment): boolean {
    return changes === this.#changes;
  }

  /** Whether what was read at that moment counts. @param otherwiseFor instead of the usual time */
  isFresh(id: string, { began, position }: ReadMoment, otherwiseFor = this.#otherwiseFor): boolean {
    const age = this.#now() - began;
    if (this.#invalidation === undefined || position === null) return age <= otherwiseFor;
    if (this.#invalidation.changedSince(id, position)) return false;
    return age <= otherwiseFor || (age <= this.#announcedFor && this.#invalidation.isCurrent());
  }

  /** Announces a change that is stored. Resolves with false when other processes could not be reached. */
  async changed(id: string): Promise<boolean> {
    this.#changes++;
    return this.#invalidation?.publish(id) ?? true;
  }
}
