import { overloaded } from '../../common/errors/catalogue.ts';

const watchInterval = 1000;

export interface DownloadSlotsOptions {
  /** Downloads at once. */
  readonly limit: number;
  /** Bytes a second below which a download is cut while others wait. */
  readonly minRate: number;
  /** Milliseconds over which that rate is taken. */
  readonly ratePeriod: number;
  /** Milliseconds that a download may wait for its slot; then it is 503. */
  readonly waitLimit: number;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/** A download that has begun. */
export interface DownloadSlot {
  /** Tells that the client has taken so many bytes more. */
  sent(bytes: number): void;
  /** It is over. */
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
 * How many downloads there may be at once, because each holds a file or a socket of the object store for as long as its
 * client likes. While others wait, who is slow is cut, and so is the slowest of the owner who has the most: an owner (an
 * account, or an address) can have all slots only while nobody else wants one.
 */
export class DownloadSlots {
  readonly #options: DownloadSlotsOptions;
  readonly #now: () => number;
  readonly #open = new Set<Open>();
  /** What each owner has, without what is being cut. */
  readonly #held = new Map<string, number>();
  /** Those who wait, by owner, in order. */
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #watcher: NodeJS.Timeout;

  constructor(options: DownloadSlotsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#watcher = setInterval(() => this.watch(), watchInterval);
    this.#watcher.unref();
  }

  /** Downloads that hold a slot. */
  get inFlight(): number {
    return this.#open.size;
  }

  /** Owners who wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** @param cut ends the download's connection. Rejects with 503, or the signal's reason. */
  async take(owner: string, { signal, cut }: { signal: AbortSignal; cut: Cut }): Promise<DownloadSlot> {
    signal.throwIfAborted();
    if (this.#open.size < this.#options.limit) return this.#begin(owner, cut);
    return await this.#turn(owner, signal, cut);
  }

  close(): void {
    clearInterval(this.#watcher);
  }

  #begin(owner: string, cut: Cut): DownloadSlot {
    const slot: Open = {
      owner,
      cut,
      since: this.#now(),
      bytes: 0,
      sent(bytes) {
        slot.bytes += bytes;
      },
      release: () => {
        if (!this.#open.delete(slot)) return;
        this.#lower(slot);
        this.#admit();
      },
    };
    this.#open.add(slot);
    this.#held.set(owner, (this.#held.get(owner) ?? 0) + 1);
    return slot;
  }

  /** Cuts what holds up others. Called by a timer. */
  watch(): void {
    const now = this.#now();
    const { minRate, ratePeriod } = this.#options;
    for (const slot of this.#open) {
      const milliseconds = now - slot.since;
      if (this.#waiting.size > 0 && milliseconds < ratePeriod) continue;
      if (this.#waiting.size > 0 && slot.bytes * 1000 < minRate * milliseconds) this.#cut(slot);
      slot.since = now;
      slot.bytes = 0;
    }
    for (const owner of this.#waiting.keys()) this.#cutForShare(owner, now);
  }

  /** Makes room for who has less than another would have left. */
  #cutForShare(owner: string, now: number): void {
    let largest = owner;
    for (const [other, held] of this.#held) {
      if (held > (this.#held.get(largest) ?? 0)) largest = other;
    }
    if ((this.#held.get(largest) ?? 0) - (this.#held.get(owner) ?? 0) < 2) return;
    let slowest: Open | null = null;
    const rate = (slot: Open) => slot.bytes / (now - slot.since + 1);
    for (const slot of this.#open) {
      if (slot.owner === largest && (slowest === null || rate(slot) < rate(slowest))) slowest = slot;
    }
    if (slowest !== null) this.#cut(slowest);
  }

  #cut(slot: Open): void {
    this.#open.delete(slot);
    this.#lower(slot);
    slot.cut(new Error('the download held up others'));
    this.#admit();
  }

  #lower({ owner }: Open): void {
    const held = (this.#held.get(owner) ?? 1) - 1;
    if (held === 0) this.#held.delete(owner);
    else this.#held.set(owner, held);
  }

  /** Who has the least goes first. */
  #admit(): void {
    if (this.#open.size >= this.#options.limit) return;
    let least: string | null = null;
    for (const owner of this.#waiting.keys()) {
      if (least === null || (this.#held.get(owner) ?? 0) < (this.#held.get(least) ?? 0)) least = owner;
    }
    if (least === null) return;
    const [goOn] = this.#waiting.get(least) as Set<() => void>;
    goOn?.();
  }

  #turn(owner: string, signal: AbortSignal, cut: Cut): Promise<DownloadSlot> {
    return new Promise((resolve, reject) => {
      const line = this.#waiting.get(owner) ?? new Set<() => void>();
      this.#waiting.set(owner, line);
      const leave = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        line.delete(goOn);
        if (line.size === 0) this.#waiting.delete(owner);
      };
      const goOn = (): void => {
        leave();
        resolve(this.#begin(owner, cut));
      };
      const onAbort = (): void => {
        leave();
        reject(signal.reason as Error);
      };
      const timer = setTimeout(() => {
        leave();
        reject(overloaded('too many downloads are under way'));
      }, this.#options.waitLimit);
      signal.addEventListener('abort', onAbort, { once: true });
      line.add(goOn);
    });
  }
}
