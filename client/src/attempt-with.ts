import { type Call, eitherOf } from './client.ts';

type Bytes = NonNullable<RequestInit['body']>;

/**
 * Each attempt of a request with these bytes. A function makes them anew.
 * @param timeout milliseconds after which an attempt has failed
 */
export function attemptWith(
  bytes: Bytes | (() => Bytes) | undefined,
  timeout?: number,
  signal?: AbortSignal,
): Pick<Call, 'attempt'> {
  return {
    attempt: () => ({
      body: (typeof bytes === 'function' ? bytes() : bytes) ?? null,
      // required for streams
      ...(bytes && { duplex: 'half' }),
      ...(timeout && { signal: eitherOf(deadline(timeout), signal) }),
    }),
  };
}

/** The listener keeps the signal alive: Node 20 collects a timeout that only AbortSignal.any uses, and it never fires. */
function deadline(milliseconds: number): AbortSignal {
  const signal = AbortSignal.timeout(milliseconds);
  signal.addEventListener('abort', () => {});
  return signal;
}
