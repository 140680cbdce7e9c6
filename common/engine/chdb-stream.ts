import type { ChdbQueryStream } from 'chdb';
import { untilAborted } from '#kernel/limits/deadline.ts';
import { countChunk } from './chunk-garbage.ts';
import { type ChunkSource, resultStream } from './result-stream.ts';

export interface StreamEnds {
  /** Runs the engine's work for a chunk in its turn, with a deadline. */
  readonly compute: (work: () => Promise<Uint8Array | null>) => Promise<Uint8Array | null>;
  /** Ends the engine's work on the current chunk. */
  readonly kill: () => void;
  /** Releases the session. @param failed the engine may still hold the rest of the stream */
  readonly release: (failed: boolean) => void;
}

/**
 * Awaits the first chunk, so that a failing statement rejects here; then reads one chunk ahead. The session is free again
 * as soon as the engine has no more chunks, however slow the reader is.
 * @param begin creates the stream, in its turn: if a stream ends before anything was read from it, the engine computes all
 *   of it on the event loop
 */
export async function readStream(
  begin: () => ChdbQueryStream,
  ends: StreamEnds,
  signal: AbortSignal | undefined,
): Promise<AsyncIterable<Uint8Array>> {
  const reader = new StreamReader(begin, ends);
  try {
    await (signal === undefined ? reader.begun() : untilAborted(reader.begun(), signal));
  } catch (error) {
    void reader.end();
    throw error;
  }
  return resultStream(reader, signal);
}

/** Reads one chunk ahead. */
class StreamReader implements ChunkSource {
  readonly #begin: () => ChdbQueryStream;
  #stream: ChdbQueryStream | null = null;
  #iterator: AsyncIterator<{ raw(): Uint8Array }> | null = null;
  readonly #ends: StreamEnds;
  #upcoming: Promise<Uint8Array | null>;
  #computing = false;
  #stopping = false;
  #ended = false;

  constructor(begin: () => ChdbQueryStream, ends: StreamEnds) {
    this.#begin = begin;
    this.#ends = ends;
    this.#upcoming = this.#pull();
  }

  async begun(): Promise<void> {
    await this.#upcoming;
  }

  async next(): Promise<Uint8Array | null> {
    const value = await this.#upcoming;
    if (value !== null) this.#upcoming = this.#pull();
    return value;
  }

  /** The engine may still be computing a chunk; the session is only free after that. */
  async end(): Promise<void> {
    this.#stopping = true;
    if (this.#computing) this.#ends.kill();
    await this.#upcoming.catch(() => null);
    this.#finish();
  }

  /** Begins the next chunk; a failure waits for the reader without counting as unhandled. */
  #pull(): Promise<Uint8Array | null> {
    const chunk = this.#compute();
    chunk.catch(() => {});
    return chunk;
  }

  async #compute(): Promise<Uint8Array | null> {
    if (this.#stopping) return null;
    try {
      const chunk = await this.#ends.compute(async () => {
        if (this.#stopping) return null;
        this.#computing = true;
        try {
          this.#stream ??= this.#begin();
          this.#iterator ??= this.#stream[Symbol.asyncIterator]();
          const next = await this.#iterator.next();
          return next.done === true ? null : next.value.raw();
        } finally {
          this.#computing = false;
        }
      });
      if (chunk === null) this.#finish();
      else countChunk(chunk.byteLength);
      return chunk;
    } catch (error) {
      this.#finish(true);
      throw error;
    }
  }

  #finish(failed = false): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#stream?.cancel();
    this.#ends.release(failed);
  }
}
