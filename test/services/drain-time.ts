/** What closing the stores may take after the drain: common/process/lifecycle/run-process.ts. Milliseconds. */
const closeTimeout = 20_000;

/** The longest that a process with these variables may take from SIGTERM to its end. Milliseconds. */
export function longestStop(env: Readonly<Record<string, string>>): number {
  return Number(env.DRAIN_DELAY_MS ?? 0) + Number(env.DRAIN_TIMEOUT_MS ?? 10_000) + closeTimeout;
}
