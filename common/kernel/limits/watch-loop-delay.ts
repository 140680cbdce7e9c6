/** Milliseconds from one look to the next, and the time over which lateness is averaged. */
const interval = 20;
const period = 300;

/**
 * Tells again and again how late the event loop comes to its timers, in milliseconds: by its own work, or because it has
 * no core. @returns what ends it
 */
export function watchLoopDelay(onLook: (delay: number) => void): () => void {
  let last = performance.now();
  let average = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    const since = now - last;
    last = now;
    const late = Math.max(0, since - interval);
    // a look that comes late stands for the time since the last one
    average += (1 - Math.exp(-since / period)) * (late - average);
    onLook(average);
  }, interval);
  timer.unref();
  return () => clearInterval(timer);
}
