/**
 * Runs work with a signal that is aborted with another one, or after a time, by a TimeoutError. Node 20 may collect a timeout that
 * `AbortSignal.any` alone holds, and the wait would have no end (findings/node-20-abort-signal-any-loses-a-timeout.sh).
 */
export async function within<Result>(
  signal: AbortSignal,
  milliseconds: number,
  work: (limit: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  const timer = setTimeout(() => {
    controller.abort(new DOMException('no answer came in time', 'TimeoutError'));
  }, milliseconds);
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}
