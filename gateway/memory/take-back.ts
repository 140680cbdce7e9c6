import { type AccountShare, type MemoryLease, slowShare } from './memory-lease.ts';

/** An upload that brings less is slow: filling a part of 5 MiB takes it longer than 10 s. Bytes a second. */
const slowRate = 512 * 1024;
/** Limit of slow uploads that had to stop in the middle of a part, as a share of their account's limit. */
const slowWaitingShare = 1 / 4;
/** An upload that holds much has to bring more: as much again within this time. Seconds. */
const longestHold = 300;
/** Limit of uploads whose bytes have stopped, as such a share: a few stalled clients are normal. */
const silentShare = 1 / 16;

/** Interval between checks of the uploads' rates. Milliseconds. */
export const watchInterval = 500;

/** The slowest rate of an upload that is not cut. */
export interface RateLimit {
  /** Bytes a second. */
  readonly minRate: number;
  /** Milliseconds over which that rate is measured. */
  readonly ratePeriod: number;
}

/** Whether an upload brings too little for its claim, by its bytes since it was allowed to read. */
export function bringsLittle(lease: MemoryLease, now: number): boolean {
  return lease.readBytes * 1000 < slowRate * (now - lease.readSince);
}

/** Judges whether an upload is slow, and whether its bytes have stopped while others waited. */
function judge(
  lease: MemoryLease,
  now: number,
  { minRate, ratePeriod, wanted }: RateLimit & { readonly wanted: boolean },
): void {
  const { recentBytes, state } = lease;
  // its slowness costs nobody anything, or its socket is paused
  if (!wanted || (state !== 'reading' && !lease.stopped)) lease.silent = false;
  if (state !== 'reading' && !lease.stopped) return;
  if (state === 'reading' && now - lease.readSince >= watchInterval) {
    lease.slow = recentBytes === 0 || bringsLittle(lease, now);
    lease.account.count(lease);
  }
  lease.recentBytes = 0;
  const elapsed = now - Math.max(lease.rateSince ?? lease.readSince + ratePeriod, lease.goesOnBy);
  if (wanted ? elapsed < ratePeriod : lease.rateSince === null) return;
  const rate = (lease.rateBytes * 1000) / elapsed;
  lease.rateBytes = 0;
  lease.rateSince = now;
  lease.silent = wanted && minRate > 0 && rate < Math.max(minRate, lease.gathered / longestHold);
}

/** Takes the room of an upload, which then waits. @returns whether it released the memory that it held as well */
type Stop = (lease: MemoryLease) => boolean;

/** Takes memory back from an account's uploads that bring too little, every `watchInterval`. */
export function takeBack(
  account: AccountShare,
  {
    limit,
    othersWait,
    now,
    rates,
    stop,
  }: {
    /** Bytes that the account may gather. */
    readonly limit: number;
    /** Other accounts wait for memory that this one has. */
    readonly othersWait: boolean;
    readonly now: number;
    readonly rates: RateLimit;
    readonly stop: Stop;
  },
): void {
  const { line, leases } = account;
  const wanted = line.size > 0 || othersWait;
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
  if (line.fastSize > 0 || othersWait) stopSlowOnes(account, limit, stop);
}

/** Stops an account's slow uploads, until they keep to their share of its limit. */
export function stopSlowOnes(account: AccountShare, limit: number, stop: Stop): void {
  if (account.slowReading <= limit * slowShare) return;
  // the upload with the longest way to go releases the most, and keeps the least
  const reading = [...account.leases].filter(({ slow, state }) => slow && state === 'reading');
  reading.sort((a, b) => a.gathered - b.gathered);
  for (const lease of reading) {
    if (account.slowReading <= limit * slowShare) break;
    if (account.slowWaiting + lease.gathered > limit * slowWaitingShare) break;
    stop(lease);
  }
}
