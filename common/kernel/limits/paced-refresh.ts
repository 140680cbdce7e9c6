import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Single flight: callers share a refresh, and each gets the result of a refresh that began after its call. Only one runs
 * at a time, with a pause in between.
 * @param pause milliseconds
 */
export function pacedRefresh(refresh: () => Promise<void>, pause: number): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  let lastBegan = Number.NEGATIVE_INFINITY;
  let upcoming: Promise<void> | null = null;
  return () => {
    upcoming ??= (async () => {
      const wait = lastBegan + pause - performance.now();
      if (wait > 0) await sleep(wait);
      await last.catch(() => {});
      upcoming = null;
      lastBegan = performance.now();
      last = refresh();
      return last;
    })();
    return upcoming;
  };
}
