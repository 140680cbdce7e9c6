/** The error that a promise rejects with; it is an error itself when it doesn't. */
export async function rejectionOf(promise: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  const resolved = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('value' in resolved) throw new Error('it was expected to reject');
  return resolved.error as Error & Record<string, unknown>;
}
