import type { MemoryLease } from './memory-lease.ts';
import { WaitingLine } from './waiting-line.ts';

/** Uploads that wait for memory, in three lines. Who asked first comes first, of those whose turn it may be. */
export class WaitingUploads {
  /** Uploads that have begun, and those whose bytes all fit into what they ask for. */
  readonly #begun = new WaitingLine<MemoryLease>();
  /** Uploads that would begin, and come back for more. */
  readonly #new = new WaitingLine<MemoryLease>();
  readonly #slow = new WaitingLine<MemoryLease>();
  #tickets = 0;

  get size(): number {
    return this.fastSize + this.#slow.size;
  }

  /** Those that are not known to be slow. */
  get fastSize(): number {
    return this.#begun.size + this.#new.size;
  }

  add(lease: MemoryLease): void {
    lease.ticket = ++this.#tickets;
    if (lease.slow) lease.line = this.#slow;
    else lease.line = lease.begun || lease.needsNoMore ? this.#begun : this.#new;
    lease.line.add(lease);
  }

  /** @param may.begin whether new uploads may begin @param may.slow whether a slow one may go on */
  next(may: {
    readonly begin: boolean;
    readonly slow: (lease: MemoryLease) => boolean;
  }): MemoryLease | undefined {
    const slow = this.#slow.first;
    const candidates = [
      this.#begun.first,
      may.begin ? this.#new.first : undefined,
      slow !== undefined && may.slow(slow) ? slow : undefined,
    ];
    let next: MemoryLease | undefined;
    for (const lease of candidates) {
      if (lease !== undefined && (next === undefined || lease.ticket < next.ticket)) next = lease;
    }
    return next;
  }
}
