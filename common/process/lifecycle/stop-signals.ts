import type { Log } from '#kernel/log/log.ts';

/** How long closing the stores may take after the drain. Milliseconds. */
export const closeTimeout = 20_000;
/** npm and a terminal may both forward one key press: a second signal within this time is ignored. Milliseconds. */
const repetition = 200;

/**
 * Stops the process gracefully on the first SIGTERM or SIGINT, and at once on a later one. Returns a function that does
 * the same for another reason.
 * @param stop drains and closes everything @param limit milliseconds after which the process ends regardless
 */
export function stopOnSignals(args: {
  stop: () => Promise<void>;
  limit: number;
  /** The work that the stop waits for, in words. */
  waitsFor: () => string;
  log: Log;
}): (reason: string) => void {
  const { stop, limit, waitsFor, log } = args;
  let since: number | null = null;
  const onSignal = (signal: string): void => {
    if (since !== null) {
      if (performance.now() - since > repetition) process.exit(1);
      return;
    }
    since = performance.now();
    log.info({ signal }, `stopping: waits for ${waitsFor()}; a second signal ends it at once`);
    setTimeout(() => {
      log.error('the stop took too long');
      process.exit(1);
    }, limit).unref();
    stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'the stop failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return onSignal;
}
