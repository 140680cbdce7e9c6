import { type AccountShare, type AccountSums, emptySums } from './account-share.ts';
import { slabBytes } from './slab-pool.ts';

/** Callbacks from the memory to an upload. */
export interface MemoryClient {
  /** There is room: the upload may read until its part is full. */
  resume(): void;
  /**
   * Others wait for the memory of its part, and it is too slow: it sends its bytes to the store, and asks for room for
   * the rest. False if the store takes only whole parts.
   */
  flush(): boolean;
  /** Ends the upload: it was slow and could not flush, or it waited while nothing moved for too long. */
  cut(reason: 'slow' | 'waited'): void;
}

/** The calls of a lease to the memory behind it. */
interface LeasedMemory {
  readonly contended: boolean;
  take(lease: MemoryLease): Buffer;
  give(lease: MemoryLease, slabs: readonly Buffer[]): void;
  shipped(lease: MemoryLease): void;
  arrived(lease: MemoryLease, bytes: number): void;
  want(lease: MemoryLease, need: number, last: boolean): void;
  idle(lease: MemoryLease): void;
  end(lease: MemoryLease): void;
}

/** idle: the upload has not asked for room. */
type LeaseState = 'idle' | 'waiting' | 'reading' | 'closed';

/** The longest interval between TCP's retransmissions (TCP_RTO_MAX of Linux). Milliseconds. */
const longestRetry = 120_000;

/** One upload's share of the memory. */
export class MemoryLease {
  readonly client: MemoryClient;
  readonly #memory: LeasedMemory;
  /** @internal of UploadMemory, like all fields below */
  readonly account: AccountShare<MemoryLease>;
  state: LeaseState = 'idle';
  /** The queue in which it waits. */
  queue: Set<MemoryLease> | null = null;
  waitingSince = 0;
  /** Bytes of slabs that it may still take. */
  claim = 0;
  /** Bytes of slabs that it has asked for. */
  need = 0;
  /** It has asked for room for all its remaining bytes. */
  needsNoMore = false;
  /** Bytes of slabs in the part that is being gathered. */
  gathered = 0;
  /** The store has the part that the claim was for. */
  shippedClaim = false;
  slow = false;
  /** It has stalled, or nearly, while others waited. */
  silent = false;
  /** It has read before. */
  begun = false;
  /** It waits because its room was taken back; its socket is still open, and no bytes have come since. */
  stopped = false;
  /** Bytes that have come since `readSince`, when it was allowed to read. */
  readBytes = 0;
  readSince = 0;
  /** Bytes since the last check. */
  recentBytes = 0;
  /** Bytes in the period over which its rate is measured. */
  rateBytes = 0;
  /** The start of that period; null until the first bytes come. */
  rateSince: number | null = null;
  /** Its rate does not count before this time. */
  rateStarts = 0;
  /** What it contributes to the sums of its account. */
  counted: AccountSums = emptySums;

  constructor(memory: LeasedMemory, account: AccountShare<MemoryLease>, client: MemoryClient) {
    this.#memory = memory;
    this.account = account;
    this.client = client;
  }

  /** Whether more may be read. */
  get reading(): boolean {
    return this.state === 'reading';
  }

  /** Whether uploads wait for memory, so that no other should hold memory idly. */
  get contended(): boolean {
    return this.#memory.contended;
  }

  /** A slab for bytes that have arrived. Never fails: only the permission to read more is limited. */
  take(): Buffer {
    return this.#memory.take(this);
  }

  give(slabs: readonly Buffer[]): void {
    if (slabs.length > 0) this.#memory.give(this, slabs);
  }

  /** Reports that a part is full and on its way to the store, which will release its slabs. */
  shipped(): void {
    this.#memory.shipped(this);
  }

  /** Reports that a read has brought bytes, after slabs were taken for them. */
  arrived(bytes: number): void {
    this.#memory.arrived(this, bytes);
  }

  /**
   * Asks to read until the part is full. The upload continues while its part has granted room; otherwise it waits until
   * `resume` is called, which may happen before this returns.
   * @param bytes the room of the part, or all remaining bytes; @param last no bytes follow
   */
  want(bytes: number, last: boolean): void {
    this.#memory.want(this, Math.ceil(bytes / slabBytes) * slabBytes, last);
  }

  /** The upload stops reading for now, for a reason other than memory. */
  idle(): void {
    this.#memory.idle(this);
  }

  /**
   * Restarts the measured rate after a pause. TCP probes a closed window, and retransmits, at intervals that double:
   * the client's next attempt may take as long as the pause was. @internal of UploadMemory
   */
  restartRate(): void {
    this.rateBytes = 0;
    this.rateSince = null;
    this.rateStarts = this.readSince + Math.min(longestRetry, this.readSince - this.waitingSince);
  }

  /** Ends the upload. All slabs must have been released. */
  close(): void {
    this.#memory.end(this);
  }
}
