import type { StreamedAnswer } from '#kernel/http-client/streamed-answer.ts';
import { statementFailure } from './engine-failure.ts';
import { type ChunkSource, resultStream } from './result-stream.ts';

const errorLimit = 64 * 1024;

/** A success answer of the server, once its head has arrived. */
export interface Answer {
  readonly body: Pick<StreamedAnswer, 'destroy'>;
  /** The data, until the engine fails. */
  readonly data: AsyncGenerator<Buffer, void, undefined>;
}

/** Reads an answer to its end. */
export async function readWhole({ data }: Answer): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of data) chunks.push(chunk);
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}

/** Reads the beginning of an error's text; the rest is not worth waiting for. */
export async function readBeginning(body: AsyncIterable<Buffer>): Promise<string> {
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
 * Awaits the first chunk, so that a statement that fails before it rejects here. Then reads on demand; the connection is
 * free again after the last chunk.
 * @param args.ahead bytes to await as well, so that a small result is complete when this resolves
 */
export async function readAnswer(
  answer: Answer,
  args: AnswerArgs & { readonly ahead?: number },
): Promise<AsyncIterable<Uint8Array>> {
  const reader = new AnswerReader(answer, args);
  await reader.begin(args.ahead ?? 0);
  return resultStream(reader, args.signal);
}

interface AnswerArgs {
  readonly release: () => void;
  readonly timeout: number;
  readonly signal: AbortSignal | undefined;
}

class AnswerReader implements ChunkSource {
  readonly #answer: Answer;
  readonly #args: AnswerArgs;
  /** Chunks that were read ahead; the last may be the end. */
  readonly #first: (Uint8Array | null)[] = [];

  constructor(answer: Answer, args: AnswerArgs) {
    this.#answer = answer;
    this.#args = args;
  }

  async begin(ahead: number): Promise<void> {
    let size = 0;
    let chunk: Uint8Array | null;
    do {
      chunk = await this.#pull();
      this.#first.push(chunk);
      size += chunk?.byteLength ?? 0;
    } while (chunk !== null && size < ahead);
  }

  async next(): Promise<Uint8Array | null> {
    const first = this.#first.shift();
    return first === undefined ? this.#pull() : first;
  }

  end(): void {
    // the error of a running pull
    const { signal, release } = this.#args;
    this.#answer.body.destroy(signal?.aborted ? (signal.reason as Error) : undefined);
    release();
  }

  async #pull(): Promise<Uint8Array | null> {
    const { body, data } = this.#answer;
    const { timeout, signal } = this.#args;
    // from here on the reader waits for the server
    const timer = setTimeout(
      () => body.destroy(new Error(`the database sent nothing for ${timeout} ms`)),
      timeout,
    );
    try {
      const next = await data.next();
      if (next.done !== true) return next.value;
      this.end();
      return null;
    } catch (error) {
      this.end();
      signal?.throwIfAborted();
      throw statementFailure(error, { writes: false });
    } finally {
      clearTimeout(timer);
    }
  }
}
