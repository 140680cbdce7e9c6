import { FairBudget } from './fair-budget.ts';
import { maxBodyValues } from './json-scanner.ts';

const mebibyte = 1024 * 1024;

/** A body up to this size counts as small: there is memory that only such bodies may use. */
export const smallBody = 64 * 1024;

/** What bodies of requests may hold, of a whole process. */
export interface BodyMemory {
  /** Bytes that arrived before anybody knew whose they are. */
  readonly unidentified: FairBudget;
  /** Bytes of small bodies, and what waits for memory. */
  readonly small: FairBudget;
  /** Bytes of the others. */
  readonly large: FairBudget;
  /** Values of large JSON bodies, from being parsed until the request is answered. */
  readonly values: FairBudget;
}

/** Parts of the memory that a handler can claim. */
export type MemoryKind = Exclude<keyof BodyMemory, 'unidentified'>;

export function createBodyMemory(): BodyMemory {
  const what = 'the memory for request bodies';
  return {
    // two takers instead of accounts: small ones, and those who sent more
    unidentified: new FairBudget({ total: 64 * mebibyte, share: 32 * mebibyte, queueLimit: 0, what }),
    small: new FairBudget({ total: 64 * mebibyte, share: 32 * mebibyte, queueLimit: 1000, what }),
    large: new FairBudget({ total: 192 * mebibyte, share: 96 * mebibyte, queueLimit: 250, what }),
    values: new FairBudget({
      total: 2 * maxBodyValues,
      share: maxBodyValues,
      queueLimit: 250,
      what: 'large JSON bodies to be read',
    }),
  };
}
