import type { MemoryLease } from './memory-lease.ts';

const sums = ['waiting', 'slowWaiting', 'slowReading'] as const;

/** Bytes of all uploads by what they do: those that wait, slow ones that wait, and slow ones that read. */
export class LeaseSums {
  waiting = 0;
  slowWaiting = 0;
  slowReading = 0;

  /** Called after every change of a lease. */
  count(lease: MemoryLease): void {
    const { state, slow, gathered, claim, counted } = lease;
    const now = {
      waiting: state === 'waiting' && !slow ? gathered : 0,
      slowWaiting: state === 'waiting' && slow ? gathered : 0,
      slowReading: state === 'reading' && slow ? gathered + claim : 0,
    };
    for (const sum of sums) this[sum] += now[sum] - counted[sum];
    lease.counted = now;
  }
}
