import { isRefusal } from './s3-failure.ts';

/** How many requests of a writer may have left something that must be looked for when it fails. */
export interface Unconfirmed {
  /** That begin an upload. */
  upload: number;
  /** That make the object visible; one that succeeded counts as well. */
  object: number;
}

/**
 * Sends a request that makes something. It counts until it is surely refused; also when it has been given up and
 * nobody waits for it any more. An upload that is known by its id needs no looking for, so it doesn't count.
 */
export async function countUnconfirmed<T>(
  unconfirmed: Unconfirmed,
  what: keyof Unconfirmed,
  send: () => Promise<T>,
): Promise<T> {
  unconfirmed[what]++;
  try {
    const result = await send();
    if (what === 'upload') unconfirmed.upload--;
    return result;
  } catch (error) {
    if (isRefusal(error)) unconfirmed[what]--;
    throw error;
  }
}
