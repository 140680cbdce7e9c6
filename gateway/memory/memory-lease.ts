import { slabBytes } from './slab-pool.ts';
import { WaitingUploads } from './waiting-uploads.ts';

/** The callbacks of an upload for its memory. */
export interface MemoryClient {
  /** There is room: the upload may read until its part is full. */
  resume(): void;
  /**
   * Others wait for the memory of its part, and it brings too little: it sends its bytes to the store, and asks again
   * for those to come. False where the store takes whole parts only.
   */
  flush(): boolean;
  /** Ends the upload: it was slow and could not flush, or nothing has moved for too long while it waited. */
  cut(reason: 'slow' | 'waited'): void;
}

/** The memory behind a lease: its requests and reports. */
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

const sums = ['gathering', 'readers', 'waiting', 'slowReading', 'slowWaiting'] as const;

/** New uploads begin up to this share of the account's limit; the rest is for begun and small ones. */
const beginningShare = 7 / 8;
/** They begin while uploads that wait for their next part hold less than this share, so that those stay few. */
const waitingShare = 1 / 12;
/** Limit of an account's slow uploads while others wait, as a share of the account's limit. */
export const slowShare = 1 / 2;

/** The part of one lease in the sums of its account. */
type CountedSums = Record<(typeof sums)[number], number>;
const nothingCounted: CountedSums = {
  gathering: 0,
  readers: 0,
  waiting: 0,
  slowReading: 0,
  slowWaiting: 0,
};

/** One upload's share of the memory. */
export class MemoryLease {
  readonly client: MemoryClient;
  readonly #memory: LeasedMemory;
  /** @internal of UploadMemory, like all fields below */
  readonly account: AccountShare;
  state: LeaseState = 'idle';
  line: Set<MemoryLease> | null = null;
  waitingSince = 0;
  /** Bytes of slabs that it may still take. */
  claim = 0;
  /** Bytes of slabs that it asked for. */
  need = 0;
  /** It asked for room for all its remaining bytes, and will not ask for more. */
  needsNoMore = false;
  /** Bytes of slabs in the part that is being gathered. */
  gathered = 0;
  /** The part of the claim is with the store. */
  shippedClaim = false;
  slow = false;
  /** Its bytes have stopped, or nearly, while others waited. */
  silent = false;
  /** It has read before. */
  begun = false;
  /** It waits because its room was taken back: its socket is open, and nothing has come since. */
  stopped = false;
  /** Bytes that have come since `readSince`, when it was allowed to read. */
  readBytes = 0;
  readSince = 0;
  /** Bytes since the last watch. */
  recentBytes = 0;
  /** Bytes of the period over which its rate is measured. */
  rateBytes = 0;
  /** The start of that period; null until the first bytes come. */
  rateSince: number | null = null;
  /** Its rate does not count before this time. */
  goesOnBy = 0;
  /** Its part in the sums of its account. */
  counted: CountedSums = nothingCounted;

  constructor(memory: LeasedMemory, account: AccountShare, client: MemoryClient) {
    this.#memory = memory;
    this.account = account;
    this.client = client;
  }

  /** Whether more may be read. */
  get reading(): boolean {
    return this.state === 'reading';
  }

  /** Whether uploads wait for memory, so that none should hold memory in vain. */
  get contended(): boolean {
    return this.#memory.contended;
  }

  /** A slab for bytes that have arrived. There is always one: only the permission to read more is scarce. */
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
   * The upload asks to read until its part is full. It continues at once while its part has room that it was granted;
   * else it waits, and `resume` is called when there is room, which may be before this returns.
   * @param bytes that the part can still take, or that are still to come; @param last nothing comes after them
   */
  want(bytes: number, last: boolean): void {
    this.#memory.want(this, Math.ceil(bytes / slabBytes) * slabBytes, last);
  }

  /** The upload reads no more for now, for a reason of its own. */
  idle(): void {
    this.#memory.idle(this);
  }

  /**
   * @internal of UploadMemory. It may read again after a pause. TCP probes a closed window, and resends dropped bytes,
   * at intervals that double: so the client's next try may be as far off as the pause was long.
   */
  goesOn(): void {
    this.rateBytes = 0;
    this.rateSince = null;
    this.goesOnBy = this.readSince + Math.min(longestRetry, this.readSince - this.waitingSince);
  }

  /** Ends the upload. All slabs must have been released. */
  close(): void {
    this.#memory.end(this);
  }
}

/** Memory of the uploads of one account. Bytes of slabs. */
export class AccountShare {
  readonly name: string;
  readonly line = new WaitingUploads<MemoryLease>();
  /** Its uploads that are not over. */
  readonly leases = new Set<MemoryLease>();
  /** Slabs that they hold, those with the store included, and slabs that they may still take. */
  held = 0;
  /** The same without those with the store, which come back by themselves. */
  gathering = 0;
  /** Uploads that read. */
  readers = 0;
  /** Slabs held by uploads that wait, by slow ones that read, and by slow ones that wait. */
  waiting = 0;
  slowReading = 0;
  slowWaiting = 0;

  constructor(name: string) {
    this.name = name;
  }

  /** The upload that continues next, if one may. @param limit bytes that the account may gather */
  next(limit: number): MemoryLease | undefined {
    return this.line.next((lease) => {
      const { slow, gathered, need } = lease;
      const begins = !(slow || lease.begun || lease.needsNoMore);
      if (begins && this.waiting > limit * waitingShare) return false;
      // one of them may read in any case
      if (this.readers === 0) return true;
      if (this.gathering + need > limit * (begins ? beginningShare : 1)) return false;
      if (!slow || this.line.fastSize === 0 || this.slowReading === 0) return true;
      return this.slowReading + gathered + need <= limit * slowShare;
    });
  }

  /** Called after every change of a lease. */
  count(lease: MemoryLease): void {
    const { state, slow, gathered, claim, counted } = lease;
    const reading = state === 'reading';
    const waits = state === 'waiting' ? gathered : 0;
    const now = {
      gathering: gathered + claim,
      readers: reading ? 1 : 0,
      waiting: slow ? 0 : waits,
      slowReading: reading && slow ? gathered + claim : 0,
      slowWaiting: slow ? waits : 0,
    };
    for (const sum of sums) this[sum] += now[sum] - counted[sum];
    lease.counted = now;
  }
}
