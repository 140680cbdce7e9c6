/** Milliseconds between two samples, and the time over which the delay is averaged. */
const interval = 20;
const period = 300;

/**
 * Reports periodically how late the event loop runs its timers, in milliseconds: because of its own work, or because it
 * gets no core. @returns a function that stops it
 */
export function watchLoopDelay(onLook: (delay: number) => void): () => void {
  let last = performance.now();
  let average = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    const since = now - last;
    last = now;
    const late = Math.max(0, since - interval);
    // a late sample counts for all the time since the last one
    average += (1 - Math.exp(-since / period)) * (late - average);
    onLook(average);
  }, interval);
  timer.unref();
  return () => clearInterval(timer);
}
