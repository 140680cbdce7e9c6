import { type AccountShare, slowShare } from './account-share.ts';
import type { MemoryLease } from './memory-lease.ts';

/** An upload below this rate is slow: it takes more than 10 s for a part of 5 MiB. Bytes a second. */
const slowRate = 512 * 1024;
/** Limit of slow uploads that were stopped in the middle of a part, as a share of their account's limit. */
const slowWaitingShare = 1 / 4;
/** The more an upload holds, the faster it has to be: as many bytes again within this time. Seconds. */
const longestHold = 300;
/** Limit of stalled uploads, as a share of the account's limit: a few stalled clients are normal. */
const silentShare = 1 / 16;

/** Interval between checks of the uploads' rates. Milliseconds. */
export const watchInterval = 500;

/** Uploads below this rate are cut. */
export interface RateLimit {
  /** Bytes a second. */
  readonly minRate: number;
  /** Milliseconds over which that rate is measured. */
  readonly ratePeriod: number;
}

/** Whether an upload is slow, by its bytes since it was allowed to read. */
export function isSlow(lease: MemoryLease, now: number): boolean {
  return lease.readBytes * 1000 < slowRate * (now - lease.readSince);
}

/** Decides whether an upload is slow, and whether it has stalled while others waited. */
function judge(
  lease: MemoryLease,
  now: number,
  { minRate, ratePeriod, wanted }: RateLimit & { readonly wanted: boolean },
): void {
  const { recentBytes, state } = lease;
  // nobody needs its memory, or its socket is paused
  if (!wanted || (state !== 'reading' && !lease.stopped)) lease.silent = false;
  if (state !== 'reading' && !lease.stopped) return;
  if (state === 'reading' && now - lease.readSince >= watchInterval) {
    lease.slow = recentBytes === 0 || isSlow(lease, now);
    lease.account.count(lease);
  }
  lease.recentBytes = 0;
  const elapsed = now - Math.max(lease.rateSince ?? lease.readSince + ratePeriod, lease.rateStarts);
  if (wanted ? elapsed < ratePeriod : lease.rateSince === null) return;
  const rate = (lease.rateBytes * 1000) / elapsed;
  lease.rateBytes = 0;
  lease.rateSince = now;
  lease.silent = wanted && minRate > 0 && rate < Math.max(minRate, lease.gathered / longestHold);
}

/** Takes the room of an upload, which then waits. @returns whether it also released the memory of its part */
type Stop = (lease: MemoryLease) => boolean;

/** Takes memory back from slow and stalled uploads of an account, every `watchInterval`. */
export function takeBack(
  account: AccountShare<MemoryLease>,
  {
    limit,
    othersWait,
    now,
    rates,
    stop,
  }: {
    /** Bytes that the account may gather. */
    readonly limit: number;
    /** Other accounts wait for memory that this one holds. */
    readonly othersWait: boolean;
    readonly now: number;
    readonly rates: RateLimit;
    readonly stop: Stop;
  },
): void {
  const { queues, leases } = account;
  const wanted = queues.size > 0 || othersWait;
  for (const lease of leases) judge(lease, now, { ...rates, wanted });
  const silent = [...leases].filter((lease) => lease.silent);
  let held = silent.reduce((sum, { gathered }) => sum + gathered, 0);
  // the largest first
  silent.sort((a, b) => b.gathered - a.gathered);
  for (const lease of silent) {
    if (stop(lease) || held <= limit * silentShare) continue;
    held -= lease.gathered;
    lease.silent = false;
    lease.client.cut('slow');
  }
  if (queues.fastSize > 0 || othersWait) stopSlowUploads(account, limit, stop);
}

/** Stops slow uploads of an account until the rest is within its share of the limit. */
export function stopSlowUploads(account: AccountShare<MemoryLease>, limit: number, stop: Stop): void {
  if (account.slowReadingBytes <= limit * slowShare) return;
  // the upload that needs the most bytes releases the most and keeps the least
  const reading = [...account.leases].filter(({ slow, state }) => slow && state === 'reading');
  reading.sort((a, b) => a.gathered - b.gathered);
  for (const lease of reading) {
    if (account.slowReadingBytes <= limit * slowShare) break;
    if (account.slowWaitingBytes + lease.gathered > limit * slowWaitingShare) break;
    stop(lease);
  }
}
