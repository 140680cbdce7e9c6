/** A signal that a deadline aborts, or the caller. */
export function startDeadline(
  milliseconds: number,
  signal: AbortSignal | undefined,
): { readonly signal: AbortSignal; end(): void } {
  const controller = new AbortController();
  const timer = setTimeout(
    () => controller.abort(new Error(`the database did not answer within ${milliseconds} ms`)),
    milliseconds,
  );
  const onAbort = (): void => controller.abort(signal?.reason);
  if (signal?.aborted) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    end() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    },
  };
}
