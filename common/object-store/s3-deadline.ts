/** What was asked of S3 took longer than it may. */
export class S3Timeout extends Error {
  constructor(what: string, milliseconds: number) {
    super(`${what} for ${Math.round(milliseconds)} ms`);
    this.name = 'S3Timeout';
  }
}

/**
 * Runs the work with a signal that is aborted together with the given one, and at the deadline. Rejects with the
 * reason of the abort, whatever the work makes of it. Unlike AbortSignal.any, it leaves no trace on a signal that
 * lives longer.
 * @param grace how long the work may go on after the signal's abort. Milliseconds
 */
export async function withDeadline<T>(
  signal: AbortSignal,
  milliseconds: number,
  work: (signal: AbortSignal) => Promise<T>,
  grace = 0,
): Promise<T> {
  signal.throwIfAborted();
  const controller = new AbortController();
  let leaving: NodeJS.Timeout | undefined;
  const stop = () => {
    if (grace > 0) leaving = setTimeout(() => controller.abort(signal.reason), grace);
    else controller.abort(signal.reason);
  };
  const expire = () => controller.abort(new S3Timeout('no answer', milliseconds));
  const timer = setTimeout(expire, milliseconds);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await work(controller.signal);
  } catch (error) {
    controller.signal.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
    clearTimeout(leaving);
    signal.removeEventListener('abort', stop);
  }
}
