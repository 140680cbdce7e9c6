import { LeaseSums } from './lease-sums.ts';
import { type MemoryClient, MemoryLease } from './memory-lease.ts';
import { SlabPool, slabBytes } from './slab-pool.ts';
import { WaitingUploads } from './waiting-uploads.ts';

/** The most that a read brings: the native receive buffer. It may be the beginning of the next part. */
export const largestRead = 512 * 1024;
/** How often slow and waiting uploads are looked at. Milliseconds. */
const watchInterval = 1000;
/** An upload that brings less is slow: filling a part of 5 MiB takes it longer than 10 s. Bytes a second. */
const slowRate = 512 * 1024;
/** What the slow ones may have while others wait, as a share of the budget. */
const slowShare = 1 / 2;
/** What slow uploads may hold that had to stop in the middle of a part, as a share of the budget. */
const slowWaitingShare = 1 / 4;
/** Parts may be large while less than this share of the budget is taken. */
const plentyShare = 1 / 4;
/** New uploads begin while those who wait for their next part hold less than this share of the budget. */
const waitingShare = 1 / 16;

export interface UploadMemoryOptions {
  /** The budget of the process. */
  readonly bytes: number;
  /** The largest part that an upload may have to gather. */
  readonly largestPart: number;
  /** Bytes a second below which an upload is cut while it holds memory and others wait. */
  readonly minRate: number;
  /** Milliseconds over which that rate is taken. */
  readonly ratePeriod: number;
  /** Milliseconds for which nothing may move while uploads wait. */
  readonly waitLimit: number;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/**
 * The memory of all uploads of a process. An upload reads when there is room for its whole part, or for all that is
 * still to come, and that room is its own until the part is with the store: so every part that is begun gets full, and
 * memory lies in parts that are on their way instead of parts that wait for each other. The others wait their turn with
 * their sockets paused, and hold at most what one read brought beyond the part before.
 *
 * Who turns out to be slow keeps to half of the budget while others wait. See docs/decisions/018-whole-parts.md;
 * test/unit/upload-memory-simulation.test.ts simulates it.
 */
export class UploadMemory {
  readonly #options: UploadMemoryOptions;
  readonly #now: () => number;
  readonly #pool = new SlabPool();
  readonly #open = new Set<MemoryLease>();
  readonly #line = new WaitingUploads();
  readonly #watcher: NodeJS.Timeout;
  /** Bytes of slabs in parts that are being gathered. */
  #gathered = 0;
  #used = 0;
  /** Bytes of slabs that uploads which read may still take. */
  #promised = 0;
  #readers = 0;
  readonly #sums = new LeaseSums();
  /** When bytes last came, or slabs came back. */
  #movedAt: number;
  #admitting = false;

  constructor(options: UploadMemoryOptions) {
    if (options.bytes < options.largestPart + 2 * largestRead) {
      throw new RangeError('the upload memory must hold the largest part and two reads');
    }
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#movedAt = this.#now();
    this.#watcher = setInterval(() => this.watch(), watchInterval);
    this.#watcher.unref();
  }

  /** Bytes of slabs that uploads hold. */
  get used(): number {
    return this.#used;
  }

  /** Bytes of slabs that are held for uploads, and of those that are free for the next ones. */
  get allocated(): number {
    return this.#pool.bytes;
  }

  /** Uploads that wait for memory. */
  get waiting(): number {
    return this.#line.size;
  }

  /** Whether an upload waits for memory. */
  get contended(): boolean {
    return this.waiting > 0;
  }

  /** Whether uploads should make do with small parts. */
  get short(): boolean {
    return this.contended || this.#used + this.#promised > this.#options.bytes * plentyShare;
  }

  /** Begins an upload. It may not read before it has asked by `want`, and its client's `resume` is called. */
  open(client: MemoryClient): MemoryLease {
    const lease = new MemoryLease(this, client);
    this.#open.add(lease);
    return lease;
  }

  close(): void {
    clearInterval(this.#watcher);
  }

  /** @internal of MemoryLease */
  take(lease: MemoryLease): Buffer {
    this.#used += slabBytes;
    const claimed = Math.min(lease.claim, slabBytes);
    lease.claim -= claimed;
    this.#promised -= claimed;
    lease.gathered += slabBytes;
    this.#gathered += slabBytes;
    if (claimed < slabBytes || lease.state !== 'reading') this.#sums.count(lease);
    return this.#pool.take();
  }

  /** @internal of MemoryLease */
  give(slabs: readonly Buffer[]): void {
    this.#used -= slabs.length * slabBytes;
    for (const slab of slabs) this.#pool.give(slab);
    this.#movedAt = this.#now();
    this.#admit();
  }

  /** @internal of MemoryLease */
  shipped(lease: MemoryLease): void {
    this.#gathered -= lease.gathered;
    lease.gathered = 0;
    lease.shippedClaim = true;
    this.#sums.count(lease);
  }

  /** @internal of MemoryLease */
  arrived(lease: MemoryLease, bytes: number): void {
    this.#movedAt = this.#now();
    lease.readBytes += bytes;
    lease.rateBytes += bytes;
    lease.rateSince ??= this.#movedAt;
  }

  /** @internal of MemoryLease */
  want(lease: MemoryLease, need: number, last: boolean): void {
    if (lease.state === 'closed' || (lease.state === 'reading' && !lease.shippedClaim)) return;
    const { state } = lease;
    if (state === 'reading') this.#stopReading(lease);
    lease.need = need === 0 || last ? need : need + largestRead;
    lease.needsNoMore = last;
    // there is nothing to wait for
    if (need === 0) this.#startReading(lease);
    else if (state !== 'waiting') this.#wait(lease);
    this.#admit();
  }

  /** @internal of MemoryLease */
  idle(lease: MemoryLease): void {
    if (lease.state === 'closed') return;
    this.#leave(lease);
    this.#admit();
  }

  /** @internal of MemoryLease */
  end(lease: MemoryLease): void {
    this.#leave(lease);
    this.#gathered -= lease.gathered;
    lease.gathered = 0;
    lease.state = 'closed';
    this.#open.delete(lease);
    this.#admit();
  }

  /**
   * Cuts what is too slow while others wait, and what waits although nothing moves; keeps the slow ones to their share.
   * Called by a timer.
   */
  watch(): void {
    const now = this.#now();
    const { minRate, ratePeriod, waitLimit } = this.#options;
    const { contended } = this;
    const stuckSince = now - waitLimit;
    for (const lease of [...this.#open]) {
      if (lease.state === 'waiting' && this.#movedAt < stuckSince && lease.waitingSince < stuckSince) {
        lease.client.cut('waited');
        continue;
      }
      this.#judge(lease, now);
      if (lease.state !== 'reading' || lease.rateSince === null) continue;
      // its slowness costs nobody anything
      if (!contended) {
        lease.rateBytes = 0;
        lease.rateSince = now;
      } else if (now - lease.rateSince >= ratePeriod) {
        const rate = (lease.rateBytes * 1000) / (now - lease.rateSince);
        lease.rateBytes = 0;
        lease.rateSince = now;
        if (rate < minRate) lease.client.cut('slow');
      }
    }
    this.#stopSlowOnes();
    this.#pool.trim();
  }

  /** Lets those who wait read, in turn, as far as memory reaches. */
  #admit(): void {
    // who is let in may ask for more before `resume` returns
    if (this.#admitting) return;
    this.#admitting = true;
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      // what nobody can give back is not waited for
      const stuck = this.#readers === 0 && this.#used === this.#gathered;
      if (!stuck && this.#used + this.#promised + next.need > this.#options.bytes) break;
      this.#startReading(next);
    }
    this.#admitting = false;
  }

  #next(): MemoryLease | undefined {
    const { bytes } = this.#options;
    const { waiting, slowReading } = this.#sums;
    return this.#line.next({
      // who has begun holds bytes while it waits: there may not be too many of them
      begin: waiting <= bytes * waitingShare,
      slow: ({ gathered, need }) =>
        this.#line.fastSize === 0 || slowReading === 0 || slowReading + gathered + need <= bytes * slowShare,
    });
  }

  /** Takes room back from uploads that are slow while others wait, beyond the share of the slow ones. */
  #stopSlowOnes(): void {
    if (this.#line.fastSize === 0) return;
    const { bytes } = this.#options;
    const reading = [...this.#open].filter(({ slow, state }) => slow && state === 'reading');
    // who has the longest way to go gives back the most, and keeps the least
    reading.sort((a, b) => a.gathered - b.gathered);
    for (const lease of reading) {
      if (this.#sums.slowReading <= bytes * slowShare) break;
      if (this.#sums.slowWaiting + lease.gathered > bytes * slowWaitingShare) break;
      lease.need = lease.claim;
      this.#stopReading(lease);
      this.#wait(lease);
    }
    this.#admit();
  }

  /** Whether an upload is slow, by what it brought since it may read. */
  #judge(lease: MemoryLease, now: number): void {
    const milliseconds = now - lease.readSince;
    if (lease.state !== 'reading' || milliseconds < watchInterval) return;
    lease.slow = lease.readBytes * 1000 < slowRate * milliseconds;
    this.#sums.count(lease);
  }

  #startReading(lease: MemoryLease): void {
    this.#leave(lease);
    lease.state = 'reading';
    this.#readers++;
    lease.begun = true;
    lease.claim = lease.need;
    this.#promised += lease.claim;
    lease.readBytes = 0;
    lease.readSince = this.#now();
    lease.rateBytes = 0;
    lease.rateSince = null;
    this.#sums.count(lease);
    lease.client.resume();
  }

  #stopReading(lease: MemoryLease): void {
    // a part that was there at once says as much as one that took its time
    if (lease.shippedClaim)
      lease.slow &&= lease.readBytes * 1000 < slowRate * (this.#now() - lease.readSince);
    this.#readers--;
    this.#promised -= lease.claim;
    lease.claim = 0;
    lease.shippedClaim = false;
    lease.state = 'idle';
    this.#sums.count(lease);
  }

  #wait(lease: MemoryLease): void {
    lease.state = 'waiting';
    lease.waitingSince = this.#now();
    this.#line.add(lease);
    this.#sums.count(lease);
  }

  #leave(lease: MemoryLease): void {
    lease.line?.remove(lease);
    lease.line = null;
    if (lease.state === 'reading') this.#stopReading(lease);
    lease.state = 'idle';
    this.#sums.count(lease);
  }
}
