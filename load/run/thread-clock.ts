/** Milliseconds since 1970, the same in each thread: performance.now() begins with its thread. */
export function threadClock(): number {
  return performance.timeOrigin + performance.now();
}
