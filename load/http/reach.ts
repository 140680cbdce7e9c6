import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from './connection.ts';
import { within } from './within.ts';

/** Milliseconds for one attempt. */
const attemptTimeout = 10_000;
/** Milliseconds between two attempts. */
const pause = 500;

/**
 * Opens a connection to a server, and closes it. Rejects with a sentence when there is none to be had, or with the signal's
 * reason.
 * @param patience milliseconds in which the server may start again
 * @param onWait is called once if it has to
 */
export async function reach(
  url: string,
  signal: AbortSignal,
  { patience = 0, onWait = (_why: string): void => {} } = {},
): Promise<void> {
  const end = performance.now() + patience;
  let isWaiting = false;
  for (;;) {
    try {
      const connection = await within(signal, attemptTimeout, (limit) => Connection.open(url, limit));
      connection.close();
      return;
    } catch (error) {
      signal.throwIfAborted();
      const problem = `${new URL(url).origin} can't be reached: ${reasonOf(error)}`;
      if (performance.now() >= end) throw new Error(problem, { cause: error });
      if (!isWaiting) onWait(problem);
      isWaiting = true;
      await sleep(pause, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}

function reasonOf(error: unknown): string {
  const { message, code = '', reason = message } = error as NodeJS.ErrnoException & { reason?: string };
  return code.startsWith('ERR_SSL_') ? `TLS failed, ${reason}` : message;
}
