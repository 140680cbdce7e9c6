/** Where the chunks of a result come from. */
export interface ChunkSource {
  /** The next chunk; null: there are no more, and nothing is held any longer. Called once at a time. */
  next(): Promise<Uint8Array | null>;
  /** Releases what is held, even while a chunk is on its way; a second call does no harm. */
  end(): Promise<void> | void;
}

/**
 * The chunks as a stream for one reader, which ends its source when the reader stops or the signal is aborted. A
 * generator would not do: it runs no `finally` before its first chunk, and its `return()` waits for the chunk under way.
 */
export function resultStream(
  source: ChunkSource,
  signal: AbortSignal | undefined,
): AsyncIterable<Uint8Array> {
  const onAbort = (): void => void source.end();
  // a reader that has not begun never runs to its end, but its request is aborted
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
