/** Deliveries of an account that may be pending in this process. */
const mostPending = 10_000;
/** Share of these that a split may fill. */
const splitShare = 1 / 2;
/** Bytes of ended deliveries' contents that an account keeps per day, as a share of its pending bytes. */
const keptShare = 1 / 4;
const day = 86_400_000;

interface DeliveryTotals {
  readonly count: number;
  /** Bytes of their contents. */
  readonly bytes: number;
}

/** Deliveries of an account that only the store has. */
export interface StoredBacklog {
  /** The id before the first of them. */
  after: string;
  /** Whether more came while the store was read. */
  more: boolean;
}

/** Counts the pending deliveries of accounts, and knows which accounts have some that only the store has. */
export class Backlog {
  readonly behind = new Map<string, StoredBacklog>();
  readonly #contentShare: number;
  readonly #pending = new Map<string, DeliveryTotals>();
  /** Bytes of contents kept today, by account. */
  readonly #kept = new Map<string, number>();
  #today = 0;

  /** @param contentShare bytes of contents that an account may have pending */
  constructor(contentShare: number) {
    this.#contentShare = contentShare;
  }

  /** Counts one more delivery, if the account may have it. @returns the reason against it; null: it is counted */
  add(ownerId: string, more: number): string | null {
    const { count, bytes } = this.#pending.get(ownerId) ?? { count: 0, bytes: 0 };
    if (count >= mostPending) return 'too many deliveries of the account wait';
    if (bytes + more > this.#contentShare) return 'the deliveries of the account that wait are too large';
    this.#pending.set(ownerId, { count: count + 1, bytes: bytes + more });
    return null;
  }

  remove(ownerId: string, less: number): void {
    const { count, bytes } = this.#pending.get(ownerId) ?? { count: 0, bytes: 0 };
    if (count <= 1) this.#pending.delete(ownerId);
    else this.#pending.set(ownerId, { count: count - 1, bytes: Math.max(0, bytes - less) });
  }

  /** Whether there is room for several deliveries in place of one, and for new ones after that. */
  maySplit(ownerId: string, more: DeliveryTotals): boolean {
    const { count, bytes } = this.#pending.get(ownerId) ?? { count: 0, bytes: 0 };
    return count + more.count <= mostPending * splitShare && bytes + more.bytes <= this.#contentShare;
  }

  split(ownerId: string, more: DeliveryTotals): void {
    const { count, bytes } = this.#pending.get(ownerId) ?? { count: 0, bytes: 0 };
    this.#pending.set(ownerId, { count: count + more.count, bytes: bytes + more.bytes });
  }

  /** Restores the totals of an account from the store. */
  restore(ownerId: string, stored: DeliveryTotals): void {
    const { count, bytes } = this.#pending.get(ownerId) ?? stored;
    this.#pending.set(ownerId, {
      count: Math.max(count, stored.count),
      bytes: Math.max(bytes, stored.bytes),
    });
    this.fallBehind(ownerId, '');
  }

  /** Notes that deliveries after this id may be only in the store. */
  fallBehind(ownerId: string, id: string): void {
    const { after } = this.behind.get(ownerId) ?? { after: id };
    this.behind.set(ownerId, { after: id < after ? id : after, more: true });
  }

  /** Whether to keep the content of an ended delivery. The limit stops updates of a large record from filling the disk. */
  keepsContent(ownerId: string, bytes: number): boolean {
    const today = Math.floor(Date.now() / day);
    if (today !== this.#today) this.#kept.clear();
    this.#today = today;
    const kept = (this.#kept.get(ownerId) ?? 0) + bytes;
    if (kept > this.#contentShare * keptShare) return false;
    this.#kept.set(ownerId, kept);
    return true;
  }
}
