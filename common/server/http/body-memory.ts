import { FairShare, type FairShareOptions } from '#kernel/limits/fair-share.ts';
import { maxBodyValues } from './json-scanner.ts';

const mebibyte = 1024 * 1024;

/** Claims of all accounts that may wait: more than there are connections. */
const queueLimit = 1_000_000;

/** A body up to this size counts as small: there is memory that only such bodies may use. */
export const smallBody = 64 * 1024;

/** The memory for bodies of requests, of a whole process. */
export interface BodyMemory {
  /** Bytes that arrived before their account was known. */
  readonly unidentified: FairShare;
  /** Bytes of small bodies, and of bodies that wait for memory. */
  readonly small: FairShare;
  /** Bytes of other bodies. */
  readonly large: FairShare;
  /** Values of large JSON bodies, from being parsed until the request is answered. */
  readonly values: FairShare;
}

/** Parts of the memory that a handler can claim. */
export type MemoryKind = Exclude<keyof BodyMemory, 'unidentified'>;

export function createBodyMemory(): BodyMemory {
  const full = 'too much waits for the memory for request bodies';
  return {
    // two takers instead of accounts: senders of small bodies, and senders of larger ones
    unidentified: halved(64 * mebibyte, { queueLimit: 0, full }),
    small: halved(64 * mebibyte, { accountQueueLimit: 1000, full }),
    large: halved(192 * mebibyte, { accountQueueLimit: 250, full }),
    values: halved(2 * maxBodyValues, {
      accountQueueLimit: 250,
      full: 'too much waits for large JSON bodies to be read',
    }),
  };
}

/** An account has half of it at most. */
function halved(capacity: number, more: Partial<FairShareOptions> & { readonly full: string }): FairShare {
  return new FairShare({ capacity, share: capacity / 2, queueLimit, ...more });
}
