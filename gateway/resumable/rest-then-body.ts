import type { BodySink, RequestBody } from '#server/http/http-types.ts';

export type Body = Pick<RequestBody, 'contentLength' | 'consume' | 'resume'>;

/**
 * The bytes that an earlier request left, followed by the bytes of this one, as one body. An interrupted body ends like
 * a complete one, because its bytes count; `failure` has the reason.
 */
export class RestThenBody implements Body {
  readonly contentLength: number | undefined;
  readonly #rest: AsyncIterable<Uint8Array> | null;
  readonly #body: Body;
  #sink: BodySink | null = null;
  #state: 'rest' | 'body' | 'over' = 'rest';
  #resumed: (() => void) | null = null;
  failure: Error | null = null;

  constructor(rest: { bytes: number; chunks: AsyncIterable<Uint8Array> } | null, body: Body) {
    const { contentLength } = body;
    this.contentLength = contentLength === undefined ? undefined : contentLength + (rest?.bytes ?? 0);
    this.#rest = rest?.chunks ?? null;
    this.#body = body;
  }

  consume(sink: BodySink): void {
    this.#sink = sink;
    if (this.#rest === null) this.#consumeBody(sink);
    else void this.#consumeRest(this.#rest, sink);
  }

  resume(): void {
    if (this.#state === 'body') this.#body.resume();
    else this.#resumed?.();
  }

  /** Ends the body here. Returns false if it is not being read yet. */
  stop(reason: Error): boolean {
    if (this.#sink === null || this.#state === 'rest') return false;
    if (this.#state === 'body') this.#end(reason);
    return true;
  }

  /** Stops reading: the consumer has ended. */
  close(): void {
    this.#state = 'over';
    this.#resumed?.();
  }

  async #consumeRest(chunks: AsyncIterable<Uint8Array>, sink: BodySink): Promise<void> {
    try {
      for await (const chunk of chunks) {
        const resumed = new Promise<void>((resolve) => {
          this.#resumed = resolve;
        });
        if (!sink.write(chunk)) await resumed;
        // leaving the loop closes the iterator
        if (this.#state === 'over') return;
      }
    } catch (error) {
      sink.fail(error as Error);
      return;
    }
    this.#consumeBody(sink);
  }

  #consumeBody(sink: BodySink): void {
    this.#state = 'body';
    this.#body.consume({
      write: (chunk) => this.#state === 'body' && sink.write(chunk),
      end: () => this.#end(null),
      fail: (error) => this.#end(error),
    });
  }

  #end(failure: Error | null): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.failure = failure;
    this.#sink?.end();
  }
}
