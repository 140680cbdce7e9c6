/** The source of a result's chunks. */
export interface ChunkSource {
  /** The next chunk; null: the end, where all resources are released. Only one call at a time. */
  next(): Promise<Uint8Array | null>;
  /** Releases all resources, even during a call of `next`. A second call does nothing. */
  end(): Promise<void> | void;
}

/**
 * A stream of the chunks for one reader. It ends its source when the reader stops or the signal is aborted. A generator
 * does not suffice: it runs no `finally` before its first chunk, and its `return()` waits for the current chunk.
 */
export function resultStream(
  source: ChunkSource,
  signal: AbortSignal | undefined,
): AsyncIterable<Uint8Array> {
  const onAbort = (): void => void source.end();
  // a reader that never starts doesn't end either, but its request is aborted
  if (signal?.aborted) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        signal?.throwIfAborted();
        let value: Uint8Array | null = null;
        try {
          value = await source.next();
        } finally {
          if (value === null) signal?.removeEventListener('abort', onAbort);
        }
        return value === null ? { done: true, value: undefined } : { done: false, value };
      },
      async return() {
        signal?.removeEventListener('abort', onAbort);
        await source.end();
        return { done: true, value: undefined };
      },
    }),
  };
}
