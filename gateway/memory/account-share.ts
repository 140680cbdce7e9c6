import type { MemoryLease } from './memory-lease.ts';
import { slowShare } from './take-back.ts';
import { WaitingUploads } from './waiting-uploads.ts';

const sums = ['gathering', 'readers', 'waiting', 'slowReading', 'slowWaiting'] as const;

/** New uploads begin up to this share of what the account may gather: what has begun, and what is small, goes on. */
const beginningShare = 7 / 8;
/** They begin while those who wait for their next part hold less than this share: there may not be too many of them. */
const waitingShare = 1 / 12;

/** What is counted of one lease. */
export type CountedSums = Record<(typeof sums)[number], number>;
export const nothingCounted: CountedSums = {
  gathering: 0,
  readers: 0,
  waiting: 0,
  slowReading: 0,
  slowWaiting: 0,
};

/** What the uploads of one account have of the memory. Bytes of slabs. */
export class AccountShare {
  readonly name: string;
  readonly line = new WaitingUploads();
  /** Its uploads that are not over. */
  readonly leases = new Set<MemoryLease>();
  /** What they hold, with the store as well, and what they may still take. */
  held = 0;
  /** The same without what is with the store, which comes back by itself. */
  gathering = 0;
  /** How many of them read. */
  readers = 0;
  /** What is held by those that wait, by slow ones that read, and by slow ones that wait. */
  waiting = 0;
  slowReading = 0;
  slowWaiting = 0;

  constructor(name: string) {
    this.name = name;
  }

  /** The upload that goes on next, if one may. @param limit what the account may gather */
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
