/**
 * Milliseconds that work on many items may block the event loop. Other requests take several turns of the loop, and each
 * turn may wait this long. Yielding costs some microseconds.
 */
const busyFor = 2;
/** Most items between two readings of the clock, and milliseconds that they may take: a reading costs as much as a short item. */
const longestStride = 16;
const strideFor = 0.1;

/** Lets everything else that can run go first. Rejects with the signal's reason. */
export async function letOthersRun(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}

/**
 * Runs work on every item, in order, and yields to other work when it takes long. Rejects with the work's
 * error, or between two items with the signal's reason.
 */
export async function forEachYielding<Item>(
  items: ArrayLike<Item>,
  work: (item: Item, index: number) => void,
  signal: AbortSignal,
): Promise<void> {
  // most requests have one item, and need no clock
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
