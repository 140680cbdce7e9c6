/**
 * Milliseconds that work on many items keeps the event loop from everything else. A request takes several turns of it, and
 * each waits this long: handing over costs some microseconds.
 */
const busyFor = 2;
/** Items between two readings of the clock, at most, and milliseconds that they may take: one costs as much as a short item. */
const longestStride = 16;
const strideFor = 0.1;

/** Everything else that can run has its turn first. Rejects with the signal's reason. */
export async function letOthersRun(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}

/**
 * Runs work on every item, in order, and lets others run in between when it takes long. Rejects with the
 * work's error, or between two items with the signal's reason.
 */
export async function forEachYielding<Item>(
  items: readonly Item[],
  work: (item: Item, index: number) => void,
  signal: AbortSignal,
): Promise<void> {
  // most requests have one: they need no clock
  if (items.length === 1) return work(items[0] as Item, 0);
  let began = performance.now();
  let last = began;
  let stride = 1;
  let next = 0;
  for (let index = 0; index < items.length; index++) {
    if (index === next) {
      let now = performance.now();
      stride = now - last < strideFor ? Math.min(2 * stride, longestStride) : 1;
      if (now - began > busyFor) {
        await letOthersRun(signal);
        now = performance.now();
        began = now;
      }
      last = now;
      next = index + stride;
    }
    work(items[index] as Item, index);
  }
}
