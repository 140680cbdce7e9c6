/**
 * Milliseconds that work on many items keeps the event loop from everything else. A request takes several turns of it, and
 * each waits this long: handing over costs some microseconds.
 */
const busyFor = 2;

/**
 * Does something with every item, in order, and lets others run in between when it takes long. Rejects with what the
 * work throws, or between two items with the signal's reason.
 */
export async function forEachYielding<Item>(
  items: readonly Item[],
  work: (item: Item, index: number) => void,
  signal: AbortSignal,
): Promise<void> {
  let began = performance.now();
  for (let index = 0; index < items.length; index++) {
    if (performance.now() - began > busyFor) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      signal.throwIfAborted();
      began = performance.now();
    }
    work(items[index] as Item, index);
  }
}
