const first = 100;
const longest = 30_000;

/**
 * How long to wait before a worker is started again. Milliseconds: twice as long after each failure, up to 30 s, and
 * anywhere in the upper half of that, so that workers that fail together don't start together.
 * @param failures in a row, 1 for the first
 */
export function restartDelay(failures: number, random: () => number = Math.random): number {
  const full = Math.min(longest, first * 2 ** (failures - 1));
  return full / 2 + (full / 2) * random();
}
