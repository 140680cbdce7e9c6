import { FairShare, type FairShareOptions } from '#kernel/limits/fair-share.ts';
import { maxBodyValues } from './json-scanner.ts';

const mebibyte = 1024 * 1024;

/** Most waiting claims of all accounts: more than there are connections. */
const queueLimit = 1_000_000;

/** A body up to this size is small: some memory is reserved for small bodies. */
export const smallBody = 64 * 1024;

/** A process's memory for request bodies. */
export interface BodyMemory {
  /** Bytes of bodies whose account is not known yet. */
  readonly unidentified: FairShare;
  /** Bytes of small bodies, and of bodies that wait for memory. */
  readonly small: FairShare;
  /** Bytes of other bodies. */
  readonly large: FairShare;
  /** Values of large JSON bodies, from being parsed until the request is answered. */
  readonly values: FairShare;
}

/** The kinds of memory that a handler can claim. */
export type MemoryKind = Exclude<keyof BodyMemory, 'unidentified'>;

export function createBodyMemory(): BodyMemory {
  const full = 'too much waits for the memory for request bodies';
  return {
    // two claimants instead of accounts: small bodies, and larger bodies
    unidentified: halved(64 * mebibyte, { queueLimit: 0, full }),
    small: halved(64 * mebibyte, { accountQueueLimit: 1000, full }),
    large: halved(192 * mebibyte, { accountQueueLimit: 250, full }),
    values: halved(2 * maxBodyValues, {
      accountQueueLimit: 250,
      full: 'too much waits for large JSON bodies to be read',
    }),
  };
}

/** An account may hold at most half of it. */
function halved(capacity: number, more: Partial<FairShareOptions> & { readonly full: string }): FairShare {
  return new FairShare({ capacity, share: capacity / 2, queueLimit, ...more });
}
