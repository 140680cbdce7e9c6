import type { AccountShare } from './account-share.ts';
import { AccountShares } from './account-shares.ts';
import { type MemoryClient, MemoryLease } from './memory-lease.ts';
import { SlabPool, slabBytes } from './slab-pool.ts';
import { isSlow, type RateLimit, stopSlowUploads, takeBack, watchInterval } from './take-back.ts';

/** Most bytes of one read: the native receive buffer. A read may reach into the next part. */
export const largestRead = 512 * 1024;
/** Parts may be large while less than this share of the budget is in use. */
const plentyShare = 1 / 4;

export interface UploadMemoryOptions extends RateLimit {
  /** The budget of the process. */
  readonly bytes: number;
  /** The largest part of any upload. */
  readonly largestPart: number;
  /** Longest time without progress while uploads wait. Milliseconds. */
  readonly waitLimit: number;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/**
 * The memory budget of a process' uploads, and their backpressure. An upload reads only once it has reserved memory for
 * a whole part, or for all its remaining bytes. So every part that is begun can be filled, and memory is held by parts
 * that make progress, not by parts that wait for each other. The other uploads wait with their sockets paused, and hold
 * at most the bytes of one read beyond their last part.
 *
 * Accounts share it: the one that holds least is served first, and none may gather so much that nothing is left for the
 * next. While others wait, slow uploads are limited to half of their account's limit, and stalled uploads release their
 * memory. See docs/decisions/018-whole-parts.md and 043-upload-memory-by-account.md; test/unit/upload-memory-*.test.ts
 * simulate it.
 */
export class UploadMemory {
  readonly #options: UploadMemoryOptions;
  readonly #now: () => number;
  readonly #pool = new SlabPool();
  readonly #accounts: AccountShares;
  readonly #watcher: NodeJS.Timeout;
  /** Bytes of slabs in parts that are being gathered. */
  #gathered = 0;
  #used = 0;
  /** Bytes of slabs that reading uploads may still take. */
  #promised = 0;
  #readers = 0;
  /** The last time that bytes arrived or slabs were returned. */
  #movedAt: number;
  #admitting = false;

  constructor(options: UploadMemoryOptions) {
    if (options.bytes < options.largestPart + 2 * largestRead) {
      throw new RangeError('the upload memory must hold the largest part and two reads');
    }
    this.#options = options;
    this.#accounts = new AccountShares(options.bytes);
    this.#now = options.now ?? (() => performance.now());
    this.#movedAt = this.#now();
    this.#watcher = setInterval(() => this.watch(), watchInterval);
    this.#watcher.unref();
  }

  /** Bytes of slabs that uploads hold. */
  get used(): number {
    return this.#used;
  }

  /** Bytes of all slabs, in use or free. */
  get allocated(): number {
    return this.#pool.bytes;
  }

  /** Uploads that wait for memory. */
  get waiting(): number {
    return this.#accounts.waiting;
  }

  /** Whether an upload waits for memory. */
  get contended(): boolean {
    return this.#accounts.contended;
  }

  /** Whether uploads should make do with small parts. */
  get short(): boolean {
    return this.contended || this.#used + this.#promised > this.#options.bytes * plentyShare;
  }

  /** Begins an upload. It may read once it has called `want`, and its client's `resume` was called. */
  open(account: string, client: MemoryClient): MemoryLease {
    const share = this.#accounts.of(account);
    const lease = new MemoryLease(this, share, client);
    share.leases.add(lease);
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
    lease.account.heldBytes += slabBytes - claimed;
    lease.gathered += slabBytes;
    this.#gathered += slabBytes;
    if (claimed < slabBytes || lease.state !== 'reading') lease.account.count(lease);
    return this.#pool.take();
  }

  /** @internal of MemoryLease */
  give(lease: MemoryLease, slabs: readonly Buffer[]): void {
    this.#used -= slabs.length * slabBytes;
    lease.account.heldBytes -= slabs.length * slabBytes;
    for (const slab of slabs) this.#pool.give(slab);
    this.#movedAt = this.#now();
    this.#admit();
  }

  /** @internal of MemoryLease */
  shipped(lease: MemoryLease): void {
    this.#gathered -= lease.gathered;
    lease.gathered = 0;
    lease.shippedClaim = true;
    lease.account.count(lease);
  }

  /** @internal of MemoryLease */
  arrived(lease: MemoryLease, bytes: number): void {
    this.#movedAt = this.#now();
    lease.stopped = false;
    lease.readBytes += bytes;
    lease.recentBytes += bytes;
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
    // nothing to wait for
    if (need === 0) this.#startReading(lease);
    else if (state !== 'waiting') this.#wait(lease);
    this.#admit();
    if (lease.queue !== null && !lease.slow && !this.#admitting) this.#makeRoom(lease.account);
  }

  /** @internal of MemoryLease */
  idle(lease: MemoryLease): void {
    if (lease.state === 'closed') return;
    this.#leave(lease);
    this.#admit();
  }

  /** @internal of MemoryLease */
  end(lease: MemoryLease): void {
    const { account } = lease;
    this.#leave(lease);
    this.#gathered -= lease.gathered;
    lease.gathered = 0;
    lease.state = 'closed';
    account.count(lease);
    account.leases.delete(lease);
    this.#accounts.ended(lease);
    this.#admit();
  }

  /**
   * Takes memory that others wait for back from slow uploads, and cuts waiting uploads when nothing moves. Called by a
   * timer.
   */
  watch(): void {
    const now = this.#now();
    const stuckSince = now - this.#options.waitLimit;
    for (const { leases } of this.#movedAt < stuckSince ? this.#accounts : []) {
      for (const lease of [...leases]) {
        if (lease.state === 'waiting' && lease.waitingSince < stuckSince) lease.client.cut('waited');
      }
    }
    const { largest } = this.#accounts;
    this.#changeAll(() => {
      for (const account of this.#accounts) {
        takeBack(account, {
          limit: this.#limitOf(account),
          othersWait: account === largest && this.#accounts.othersWait(account),
          now,
          rates: this.#options,
          stop: (lease) => this.#stop(lease),
        });
      }
    });
    this.#pool.trim();
  }

  /**
   * For an upload that waits: slow uploads of its account, and of the largest account, are reduced to their share at
   * once.
   */
  #makeRoom(account: AccountShare<MemoryLease>): void {
    this.#changeAll(() => {
      for (const one of new Set([account, this.#accounts.largest ?? account])) {
        stopSlowUploads(one, this.#limitOf(one), (lease) => this.#stop(lease));
      }
    });
  }

  /**
   * Gives the room of an upload to others. The upload is queued; one more read of it is accepted.
   * @returns whether it released the memory of its part
   */
  #stop(lease: MemoryLease): boolean {
    if (lease.state === 'reading') {
      lease.need = lease.claim;
      this.#stopReading(lease);
      lease.stopped = true;
      this.#wait(lease);
    }
    return lease.client.flush();
  }

  #limitOf(account: AccountShare<MemoryLease>): number {
    return this.#accounts.limitOf(account, this.#gathered + this.#promised);
  }

  /** Makes several changes, and admits uploads only afterwards. */
  #changeAll(change: () => void): void {
    this.#admitting = true;
    change();
    this.#admitting = false;
    this.#admit();
  }

  /** Lets waiting uploads read, in turn, as far as the memory goes. */
  #admit(): void {
    // an admitted upload may call `want` before `resume` returns
    if (this.#admitting) return;
    this.#admitting = true;
    for (;;) {
      const next = this.#accounts.next(this.#gathered + this.#promised);
      if (next === undefined) break;
      // no memory is about to come back, so waiting would not help
      const stuck = this.#readers === 0 && this.#used === this.#gathered;
      if (!stuck && this.#used + this.#promised + next.need > this.#options.bytes) break;
      this.#accounts.served(next);
      this.#startReading(next);
    }
    this.#admitting = false;
  }

  #startReading(lease: MemoryLease): void {
    const { stopped } = lease;
    this.#leave(lease);
    lease.state = 'reading';
    this.#readers++;
    lease.begun = true;
    lease.shippedClaim = false;
    lease.claim = lease.need;
    this.#promised += lease.claim;
    lease.account.heldBytes += lease.claim;
    lease.readBytes = 0;
    lease.readSince = this.#now();
    if (!stopped) lease.restartRate();
    lease.account.count(lease);
    lease.client.resume();
  }

  #stopReading(lease: MemoryLease): void {
    // a part that arrived in one read is judged like any other
    if (lease.shippedClaim) lease.slow &&= isSlow(lease, this.#now());
    this.#readers--;
    this.#promised -= lease.claim;
    lease.account.heldBytes -= lease.claim;
    lease.claim = 0;
    lease.shippedClaim = false;
    lease.state = 'idle';
    lease.account.count(lease);
  }

  #wait(lease: MemoryLease): void {
    lease.state = 'waiting';
    lease.waitingSince = this.#now();
    this.#accounts.enqueue(lease);
    lease.account.count(lease);
  }

  #leave(lease: MemoryLease): void {
    this.#accounts.dequeue(lease);
    lease.stopped = false;
    if (lease.state === 'reading') this.#stopReading(lease);
    lease.state = 'idle';
    lease.account.count(lease);
  }
}
