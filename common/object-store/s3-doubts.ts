import { isRefusal } from './s3-failure.ts';

/** How many requests of a writer may have been carried out without its knowing. */
export interface Doubts {
  /** That begin an upload. */
  upload: number;
  /** That make the object visible. */
  object: number;
}

/**
 * Sends a request whose outcome must be known. It counts as doubtful until it succeeds or is surely refused; also when
 * it has been given up and nobody waits for it any more.
 */
export async function inDoubt<T>(doubts: Doubts, what: keyof Doubts, send: () => Promise<T>): Promise<T> {
  doubts[what]++;
  try {
    const result = await send();
    doubts[what]--;
    return result;
  } catch (error) {
    if (isRefusal(error)) doubts[what]--;
    throw error;
  }
}
