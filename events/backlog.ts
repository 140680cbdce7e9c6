/** Deliveries of an account that may wait in this process. */
const mostWaiting = 10_000;
/** Share of them that a split may fill. */
const splitShare = 1 / 2;
/** Contents of ended deliveries that an account keeps per day, as a share of the bytes that it may have waiting. */
const keptShare = 1 / 4;
const day = 86_400_000;

interface Waiting {
  readonly count: number;
  /** Size of their contents. */
  readonly bytes: number;
}

/** Deliveries of an account in the store alone. */
export interface Behind {
  /** Their ids come after this one. */
  after: string;
  /** Whether some came during the read of the store. */
  more: boolean;
}

/** Counts the waiting deliveries of accounts, and knows the accounts with some in the store alone. */
export class Backlog {
  readonly behind = new Map<string, Behind>();
  readonly #contentShare: number;
  readonly #waiting = new Map<string, Waiting>();
  /** Bytes of today's kept contents, by account. */
  readonly #kept = new Map<string, number>();
  #today = 0;

  /** @param contentShare bytes of contents that an account may have waiting */
  constructor(contentShare: number) {
    this.#contentShare = contentShare;
  }

  /** Counts one more delivery, if the account may have it. @returns the reason against it; null: it is counted */
  add(ownerId: string, more: number): string | null {
    const { count, bytes } = this.#waiting.get(ownerId) ?? { count: 0, bytes: 0 };
    if (count >= mostWaiting) return 'too many deliveries of the account wait';
    if (bytes + more > this.#contentShare) return 'the deliveries of the account that wait are too large';
    this.#waiting.set(ownerId, { count: count + 1, bytes: bytes + more });
    return null;
  }

  remove(ownerId: string, less: number): void {
    const { count, bytes } = this.#waiting.get(ownerId) ?? { count: 0, bytes: 0 };
    if (count <= 1) this.#waiting.delete(ownerId);
    else this.#waiting.set(ownerId, { count: count - 1, bytes: Math.max(0, bytes - less) });
  }

  /** Whether there is room for several deliveries in place of one, and for new ones after that. */
  maySplit(ownerId: string, more: Waiting): boolean {
    const { count, bytes } = this.#waiting.get(ownerId) ?? { count: 0, bytes: 0 };
    return count + more.count <= mostWaiting * splitShare && bytes + more.bytes <= this.#contentShare;
  }

  split(ownerId: string, more: Waiting): void {
    const { count, bytes } = this.#waiting.get(ownerId) ?? { count: 0, bytes: 0 };
    this.#waiting.set(ownerId, { count: count + more.count, bytes: bytes + more.bytes });
  }

  /** Takes over the counts of an account from the store. */
  found(ownerId: string, stored: Waiting): void {
    const { count, bytes } = this.#waiting.get(ownerId) ?? stored;
    this.#waiting.set(ownerId, {
      count: Math.max(count, stored.count),
      bytes: Math.max(bytes, stored.bytes),
    });
    this.fallBehind(ownerId, '');
  }

  /** Deliveries after this id are in the store, and maybe not in memory. */
  fallBehind(ownerId: string, id: string): void {
    const { after } = this.behind.get(ownerId) ?? { after: id };
    this.behind.set(ownerId, { after: id < after ? id : after, more: true });
  }

  /** Whether the content of a delivery that is over is kept, so that updates of a large record do not fill the disk. */
  keeps(ownerId: string, bytes: number): boolean {
    const today = Math.floor(Date.now() / day);
    if (today !== this.#today) this.#kept.clear();
    this.#today = today;
    const kept = (this.#kept.get(ownerId) ?? 0) + bytes;
    if (kept > this.#contentShare * keptShare) return false;
    this.#kept.set(ownerId, kept);
    return true;
  }
}
