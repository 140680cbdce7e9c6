import { isRefusal } from './s3-failure.ts';

/** How many requests of a writer may have left something that must be looked for when it fails. */
export interface Doubts {
  /** That begin an upload. */
  upload: number;
  /** That make the object visible; one that succeeded counts as well. */
  object: number;
}

/**
 * Sends a request that makes something. It counts until it is surely refused; also when it has been given up and
 * nobody waits for it any more. An upload that is known by its id needs no looking for, so it doesn't count.
 */
export async function inDoubt<T>(doubts: Doubts, what: keyof Doubts, send: () => Promise<T>): Promise<T> {
  doubts[what]++;
  try {
    const result = await send();
    if (what === 'upload') doubts.upload--;
    return result;
  } catch (error) {
    if (isRefusal(error)) doubts[what]--;
    throw error;
  }
}
