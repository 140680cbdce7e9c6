import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '../files/refusal.ts';

/** Milliseconds before each further attempt. */
const pauses = [200, 1000, 5000];
const goneCodes: readonly unknown[] = [
  'ECONNREFUSED',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
];

/** The server is gone or hangs: nothing is known of what it has stored. */
export class Unanswered extends Error {
  constructor(cause: unknown) {
    super(`the server does not answer: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Repeats a read that a loaded server did not answer, or asks to repeat: what remains is no matter of load. Rejects with an
 * Unanswered when there is no server to read from.
 */
export async function persistent<Value>(read: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await read();
    } catch (error) {
      signal.throwIfAborted();
      const { name, code } = error as NodeJS.ErrnoException;
      // its time was long enough
      if (name === 'TimeoutError') throw new Unanswered(error);
      if (error instanceof Refusal && error.status !== 429 && error.status < 500) throw error;
      const pause = pauses[attempt];
      if (pause === undefined) throw goneCodes.includes(code) ? new Unanswered(error) : error;
      await sleep(pause, undefined, { signal });
    }
  }
}
