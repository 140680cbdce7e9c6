import { FairShare } from './fair-share.ts';

/** How often readers are checked in each window. */
const checks = 10;

export interface ReaderSlotsOptions {
  /** Concurrent readers. */
  readonly limit: number;
  /** Readers that may wait. */
  readonly queueLimit: number;
  /** Milliseconds that a reader may wait for its slot before it gets a 503. Absent: until its signal is aborted. */
  readonly waitLimit?: number;
  /** The text of the 503. */
  readonly full: string;
  /** Bytes a second below which a reader is cut while others wait. */
  readonly minRate: number;
  /** Milliseconds over which that rate is measured. */
  readonly ratePeriod: number;
  /**
   * Whether an account may have all slots while nobody else wants one. When somebody does, its slowest reader is cut.
   * Otherwise an account has half of the slots at most.
   */
  readonly lendsAll: boolean;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/** The slot of a reader. */
export class ReaderSlot {
  readonly account: string;
  /** A second call does nothing. */
  readonly release: () => void;
  /** Set by the reader: ends the reading. The slot stays taken until `release`. */
  onCut: () => void = () => {};
  /** Whether the reader waits for its source. Then it is not slow, and its window starts again. */
  awaitsSource = false;
  /** Bytes that the client has taken since the window began. */
  bytes = 0;
  /** When the window began. */
  since: number;

  constructor(account: string, since: number, release: () => void) {
    this.account = account;
    this.since = since;
    this.release = release;
  }

  /** Reports that the client has taken this many more bytes. */
  sent(bytes: number): void {
    this.bytes += bytes;
  }
}

/**
 * A semaphore for readers, fair between accounts. Each reader holds a file, a connection or an engine for as long as its
 * client likes, so a slow one is cut while others wait.
 */
export class ReaderSlots {
  readonly #options: ReaderSlotsOptions;
  readonly #now: () => number;
  readonly #slots: FairShare;
  readonly #held = new Set<ReaderSlot>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: ReaderSlotsOptions) {
    const { limit, queueLimit, waitLimit, full, ratePeriod, lendsAll } = options;
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    const share = lendsAll ? limit : Math.max(1, Math.floor(limit / 2));
    const reserve = lendsAll ? 0 : 1;
    this.#slots = new FairShare({ capacity: limit, share, reserve, queueLimit, waitLimit, full });
    this.#timer = setInterval(() => this.watch(), ratePeriod / checks);
    this.#timer.unref();
  }

  /** Readers that hold a slot. */
  get inFlight(): number {
    return this.#slots.used;
  }

  /** Accounts that wait. */
  get waiting(): number {
    return this.#slots.waiting.size;
  }

  /** Rejects with 503, or the signal's reason. @param account absent: the service itself reads */
  async take(signal: AbortSignal | undefined, account = ''): Promise<ReaderSlot> {
    const release = await this.#slots.take(signal, account);
    const slot = new ReaderSlot(account, this.#now(), () => {
      this.#held.delete(slot);
      release();
    });
    this.#held.add(slot);
    return slot;
  }

  /** @param error for waiting readers; absent: they keep waiting */
  close(error?: Error): void {
    clearInterval(this.#timer);
    if (error !== undefined) this.#slots.failAll(error);
  }

  /** Cuts readers that hold up others. Called by a timer. */
  watch(): void {
    const now = this.#now();
    const { minRate, ratePeriod, lendsAll } = this.#options;
    for (const slot of this.#held) {
      const milliseconds = now - slot.since;
      if (this.waiting > 0 && !slot.awaitsSource) {
        if (milliseconds < ratePeriod) continue;
        const isSlow = slot.bytes * 1000 < minRate * milliseconds;
        if (isSlow && this.#holdsUp(slot)) slot.onCut();
      }
      slot.since = now;
      slot.bytes = 0;
    }
    if (!lendsAll) return;
    for (const account of [...this.#slots.waiting.keys()]) this.#cutForShare(account, now);
  }

  /** While slots are free, only accounts at their share wait, and only their own readers hold them up. */
  #holdsUp({ account }: ReaderSlot): boolean {
    return this.#slots.exhausted || this.#slots.waiting.has(account);
  }

  /** Makes room for an account that has fewer slots than another account would keep. */
  #cutForShare(account: string, now: number): void {
    const { held } = this.#slots;
    let largest = account;
    for (const [other, slots] of held) if (slots > (held.get(largest) ?? 0)) largest = other;
    if ((held.get(largest) ?? 0) - (held.get(account) ?? 0) < 2) return;
    let slowest: ReaderSlot | null = null;
    const rate = (slot: ReaderSlot) => slot.bytes / (now - slot.since + 1);
    for (const slot of this.#held) {
      if (slot.account === largest && (slowest === null || rate(slot) < rate(slowest))) slowest = slot;
    }
    slowest?.onCut();
  }
}
