import { type QueuedUpload, UploadQueues } from './upload-queues.ts';

/** New uploads begin up to this share of the account's limit; the rest is for small uploads and those under way. */
const beginningShare = 7 / 8;
/** New uploads begin while those that wait for their next part hold less than this share, so that these stay few. */
const waitingShare = 1 / 12;
/** Limit of an account's slow uploads while others wait, as a share of the account's limit. */
export const slowShare = 1 / 2;

const sums = ['gatheredBytes', 'readers', 'waitingBytes', 'slowReadingBytes', 'slowWaitingBytes'] as const;

/** What one lease contributes to the sums of its account. */
export type AccountSums = Record<(typeof sums)[number], number>;
export const emptySums: AccountSums = {
  gatheredBytes: 0,
  readers: 0,
  waitingBytes: 0,
  slowReadingBytes: 0,
  slowWaitingBytes: 0,
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
  /** Bytes of slabs that they hold, including parts that the store is writing, and of slabs that they may still take. */
  heldBytes = 0;
  /** The same without parts that the store is writing, which come back by themselves. */
  gatheredBytes = 0;
  /** Uploads that are reading. */
  readers = 0;
  /** Bytes that waiting uploads hold; slow uploads count separately. */
  waitingBytes = 0;
  /** Bytes that slow uploads hold while they read, and may still take. */
  slowReadingBytes = 0;
  /** Bytes that slow uploads hold while they wait. */
  slowWaitingBytes = 0;

  constructor(name: string) {
    this.name = name;
  }

  /** The upload that may continue next. @param limit bytes that the account may gather */
  next(limit: number): Lease | undefined {
    return this.queues.next((lease) => {
      const { slow, gathered, need } = lease;
      const begins = !(slow || lease.begun || lease.needsNoMore);
      if (begins && this.waitingBytes > limit * waitingShare) return false;
      // one upload may always read
      if (this.readers === 0) return true;
      if (this.gatheredBytes + need > limit * (begins ? beginningShare : 1)) return false;
      if (!slow || this.queues.fastSize === 0 || this.slowReadingBytes === 0) return true;
      return this.slowReadingBytes + gathered + need <= limit * slowShare;
    });
  }

  /** Updates the sums after any change of a lease. */
  count(lease: Lease): void {
    const { state, slow, gathered, claim, counted } = lease;
    const reading = state === 'reading';
    const waits = state === 'waiting' ? gathered : 0;
    const now = {
      gatheredBytes: gathered + claim,
      readers: reading ? 1 : 0,
      waitingBytes: slow ? 0 : waits,
      slowReadingBytes: reading && slow ? gathered + claim : 0,
      slowWaitingBytes: slow ? waits : 0,
    };
    for (const sum of sums) this[sum] += now[sum] - counted[sum];
    lease.counted = now;
  }
}
