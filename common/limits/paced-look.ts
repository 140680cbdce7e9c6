import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Makes what looks at something for all who ask: each is answered by a look that began after it asked, and there is one at
 * a time, with a pause between two, however many ask.
 * @param pause milliseconds
 */
export function pacedLook(look: () => Promise<void>, pause: number): () => Promise<void> {
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
      last = look();
      return last;
    })();
    return upcoming;
  };
}
