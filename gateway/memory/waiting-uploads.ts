import type { MemoryLease } from './memory-lease.ts';

/**
 * Uploads of one account that wait for memory, in three lines that take turns; in a line who asked first comes first: a
 * Set iterates in the order of insertion, and to join and to leave takes constant time.
 */
export class WaitingUploads {
  /** Uploads that have begun, and those whose bytes all fit into what they ask for. */
  readonly #begun = new Set<MemoryLease>();
  /** Uploads that would begin, and come back for more. */
  readonly #new = new Set<MemoryLease>();
  readonly #slow = new Set<MemoryLease>();
  /** The line that went on last comes last. */
  #turns = [this.#begun, this.#new, this.#slow];

  get size(): number {
    return this.fastSize + this.#slow.size;
  }

  /** Those that are not known to be slow. */
  get fastSize(): number {
    return this.#begun.size + this.#new.size;
  }

  add(lease: MemoryLease): void {
    if (lease.slow) lease.line = this.#slow;
    else lease.line = lease.begun || lease.needsNoMore ? this.#begun : this.#new;
    lease.line.add(lease);
  }

  next(may: (lease: MemoryLease) => boolean): MemoryLease | undefined {
    for (const [first] of this.#turns) if (first !== undefined && may(first)) return first;
    return undefined;
  }

  /** Tells that the first of a line goes on. */
  served(line: Set<MemoryLease>): void {
    this.#turns = [...this.#turns.filter((other) => other !== line), line];
  }
}
