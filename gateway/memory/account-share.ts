import { type QueuedUpload, UploadQueues } from './upload-queues.ts';

/** New uploads begin up to this share of the account's limit; the rest is for small uploads and those under way. */
const beginningShare = 7 / 8;
/** New uploads begin while those that wait for their next part hold less than this share, so that these stay few. */
const waitingShare = 1 / 12;
/** Limit of an account's slow uploads while others wait, as a share of the account's limit. */
export const slowShare = 1 / 2;

const sums = ['gathering', 'readers', 'waiting', 'slowReading', 'slowWaiting'] as const;

/** What one lease contributes to the sums of its account. */
export type AccountSums = Record<(typeof sums)[number], number>;
export const emptySums: AccountSums = {
  gathering: 0,
  readers: 0,
  waiting: 0,
  slowReading: 0,
  slowWaiting: 0,
};

/** The fields of a lease that decide on its account's sums. Bytes of slabs. */
interface CountedLease extends QueuedUpload {
  readonly state: 'idle' | 'waiting' | 'reading' | 'closed';
  readonly gathered: number;
  readonly claim: number;
  readonly need: number;
  counted: AccountSums;
}

/** Memory of the uploads of one account. Bytes of slabs. */
export class AccountShare<Lease extends CountedLease> {
  readonly name: string;
  readonly queues = new UploadQueues<Lease>();
  /** Its uploads under way. */
  readonly leases = new Set<Lease>();
  /** Slabs that they hold, including parts that the store is writing, and slabs that they may still take. */
  held = 0;
  /** The same without parts that the store is writing, which come back by themselves. */
  gathering = 0;
  /** Uploads that are reading. */
  readers = 0;
  /** Slabs of waiting uploads, of slow uploads that read, and of slow uploads that wait. */
  waiting = 0;
  slowReading = 0;
  slowWaiting = 0;

  constructor(name: string) {
    this.name = name;
  }

  /** The upload that may continue next. @param limit bytes that the account may gather */
  next(limit: number): Lease | undefined {
    return this.queues.next((lease) => {
      const { slow, gathered, need } = lease;
      const begins = !(slow || lease.begun || lease.needsNoMore);
      if (begins && this.waiting > limit * waitingShare) return false;
      // one upload may always read
      if (this.readers === 0) return true;
      if (this.gathering + need > limit * (begins ? beginningShare : 1)) return false;
      if (!slow || this.queues.fastSize === 0 || this.slowReading === 0) return true;
      return this.slowReading + gathered + need <= limit * slowShare;
    });
  }

  /** Updates the sums after any change of a lease. */
  count(lease: Lease): void {
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
