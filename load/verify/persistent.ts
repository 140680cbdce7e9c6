import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '../files/refusal.ts';

/** Milliseconds before each further attempt. */
const pauses = [200, 1000, 5000];

/** Repeats a read that a loaded server did not answer, or asks to repeat: what remains is no matter of load. */
export async function persistent<Value>(read: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
  for (const pause of pauses) {
    try {
      return await read();
    } catch (error) {
      if (error instanceof Refusal && error.status !== 429 && error.status < 500) throw error;
      await sleep(pause, undefined, { signal });
    }
  }
  return read();
}
