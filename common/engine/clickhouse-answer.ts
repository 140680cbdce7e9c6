import type { StreamedAnswer } from '#kernel/http-client/streamed-answer.ts';
import { statementFailure } from './engine-failure.ts';

const errorLimit = 64 * 1024;

/** A good answer of the server, once its head has arrived. */
export interface Answer {
  readonly body: Pick<StreamedAnswer, 'destroy'>;
  /** The data, until the engine fails. */
  readonly data: AsyncGenerator<Buffer, void, undefined>;
}

/** Reads an answer to its end. */
export async function whole({ data }: Answer): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of data) chunks.push(chunk);
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}

/** The beginning of an error's text; the rest is not worth waiting for. */
export async function beginning(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > errorLimit) break;
  }
  return Buffer.concat(chunks).toString('utf8').trim();
}

/**
 * Awaits the first chunk, so that a statement that fails before it rejects here. The server is asked for more as the
 * reader takes it; the connection is free again after the last chunk.
 * @param args.ahead bytes that are awaited as well, so that a small result is whole when this resolves
 */
export async function readAnswer(
  { body, data }: Answer,
  args: { release: () => void; timeout: number; ahead?: number; signal: AbortSignal | undefined },
): Promise<AsyncIterable<Uint8Array>> {
  const { release, timeout, ahead = 0, signal } = args;
  const end = (): void => {
    body.destroy();
    signal?.removeEventListener('abort', onAbort);
    release();
  };
  // a reader that has not begun never runs to its end, but its request is aborted
  const onAbort = (): void => {
    body.destroy(signal?.reason as Error);
    end();
  };
  const pull = async (): Promise<IteratorResult<Buffer, void>> => {
    // from here on the reader waits for the server, and not the other way round
    const timer = setTimeout(
      () => body.destroy(new Error(`the database sent nothing for ${timeout} ms`)),
      timeout,
    );
    try {
      const next = await data.next();
      if (next.done === true) end();
      return next;
    } catch (error) {
      end();
      signal?.throwIfAborted();
      throw statementFailure(error, { writes: false });
    } finally {
      clearTimeout(timer);
    }
  };
  const first = [await pull()];
  let size = 0;
  for (let last = first[0]; last?.done === false; last = first.at(-1)) {
    size += last.value.byteLength;
    if (size >= ahead) break;
    first.push(await pull());
  }
  if (signal?.aborted) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        signal?.throwIfAborted();
        const next = first.shift() ?? (await pull());
        return next.done === true ? { done: true, value: undefined } : { done: false, value: next.value };
      },
      async return() {
        end();
        return { done: true, value: undefined };
      },
    }),
  };
}
