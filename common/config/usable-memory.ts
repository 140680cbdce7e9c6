import { totalmem } from 'node:os';

/** @returns bytes of memory that this process may use: the machine's, or the limit of its container */
export function usableMemory(): number {
  // undefined, 0 or more than the machine has: no limit is set
  const limit = process.constrainedMemory() || Number.POSITIVE_INFINITY;
  return Math.min(totalmem(), limit);
}
