import { FairShare } from '#kernel/limits/fair-share.ts';

const watchInterval = 1000;
/** Downloads that may wait. */
const queueLimit = 10_000;

export interface DownloadSlotsOptions {
  /** Downloads at once. */
  readonly limit: number;
  /** Bytes a second below which a download is cut while others wait. */
  readonly minRate: number;
  /** Milliseconds over which that rate is measured. */
  readonly ratePeriod: number;
  /** Milliseconds that a download may wait for its slot; then it is 503. */
  readonly waitLimit: number;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/** A download that has begun. */
export interface DownloadSlot {
  /** Reports that the client has taken this many more bytes. */
  sent(bytes: number): void;
  release(): void;
}

type Cut = (reason: Error) => void;

interface Open extends DownloadSlot {
  readonly owner: string;
  readonly cut: Cut;
  since: number;
  bytes: number;
}

/**
 * A semaphore for downloads: each holds a file or a socket of the object store for as long as its client likes. While
 * others wait, a slow client is cut, and so is the slowest of the owner with the most: an owner (an account, or an
 * address) can have all slots only while nobody else wants one.
 */
export class DownloadSlots {
  readonly #options: DownloadSlotsOptions;
  readonly #now: () => number;
  readonly #open = new Set<Open>();
  readonly #places: FairShare;
  readonly #watcher: NodeJS.Timeout;

  constructor(options: DownloadSlotsOptions) {
    const { limit, waitLimit } = options;
    const full = 'too many downloads are under way';
    this.#options = options;
    this.#places = new FairShare({ capacity: limit, queueLimit, waitLimit, full });
    this.#now = options.now ?? (() => performance.now());
    this.#watcher = setInterval(() => this.watch(), watchInterval);
    this.#watcher.unref();
  }

  /** Downloads that hold a slot. */
  get inFlight(): number {
    return this.#places.used;
  }

  /** Owners that wait. */
  get waiting(): number {
    return this.#places.waiting.size;
  }

  /** @param cut ends the download's connection. Rejects with 503, or the signal's reason. */
  async take(owner: string, { signal, cut }: { signal: AbortSignal; cut: Cut }): Promise<DownloadSlot> {
    const release = await this.#places.take(signal, owner);
    const slot: Open = {
      owner,
      cut,
      since: this.#now(),
      bytes: 0,
      sent(bytes) {
        slot.bytes += bytes;
      },
      release: () => {
        this.#open.delete(slot);
        release();
      },
    };
    this.#open.add(slot);
    return slot;
  }

  close(): void {
    clearInterval(this.#watcher);
  }

  /** Cuts downloads that hold up others. Called by a timer. */
  watch(): void {
    const now = this.#now();
    const { minRate, ratePeriod } = this.#options;
    for (const slot of this.#open) {
      const milliseconds = now - slot.since;
      if (this.waiting > 0 && milliseconds < ratePeriod) continue;
      if (this.waiting > 0 && slot.bytes * 1000 < minRate * milliseconds) this.#cut(slot);
      slot.since = now;
      slot.bytes = 0;
    }
    for (const owner of [...this.#places.waiting.keys()]) this.#cutForShare(owner, now);
  }

  /** Makes room for an owner that has less than another one would keep. */
  #cutForShare(owner: string, now: number): void {
    const { held } = this.#places;
    let largest = owner;
    for (const [other, slots] of held) if (slots > (held.get(largest) ?? 0)) largest = other;
    if ((held.get(largest) ?? 0) - (held.get(owner) ?? 0) < 2) return;
    let slowest: Open | null = null;
    const rate = (slot: Open) => slot.bytes / (now - slot.since + 1);
    for (const slot of this.#open) {
      if (slot.owner === largest && (slowest === null || rate(slot) < rate(slowest))) slowest = slot;
    }
    if (slowest !== null) this.#cut(slowest);
  }

  #cut(slot: Open): void {
    slot.cut(new Error('the download held up others'));
    slot.release();
  }
}
