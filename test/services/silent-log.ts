import type { Log } from '#kernel/log/log.ts';

/** A log that keeps the messages of failures, so that a test can look at them. */
export function silentLog(): Log & { readonly failures: string[] } {
  const failures: string[] = [];
  const ignore = (): void => {};
  const keep = (...args: unknown[]): void => {
    failures.push(args.map((arg) => (typeof arg === 'string' ? arg : JSON.stringify(arg))).join(' '));
  };
  const levels = { debug: ignore, info: ignore, warn: keep, error: keep, fatal: keep };
  return { failures, isLevelEnabled: () => true, ...levels } as Log & { failures: string[] };
}
