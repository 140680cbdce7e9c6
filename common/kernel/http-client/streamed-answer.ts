import type { Attempt } from '../limits/deadline.ts';
import type { AnswerHead } from './answer-parser.ts';
import type { PacedSink } from './http1-connection.ts';

/** Bytes that may be buffered for the reader before the server is paused. */
const ahead = 256 * 1024;

type Next = IteratorResult<Buffer, undefined>;

interface Reader {
  readonly resolve: (next: Next) => void;
  readonly reject: (error: unknown) => void;
}

/** An answer that is streamed with backpressure. */
export class StreamedAnswer implements PacedSink, AsyncIterable<Buffer> {
  /** Resolves when the head has arrived. */
  readonly begun: Promise<this>;
  onRoom: (() => void) | null = null;
  readonly #attempt: Attempt;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #head: AnswerHead = { status: 0, reason: '', headers: new Map() };
  /** How the answer ended; null: it is not complete. */
  #over: { readonly error?: unknown } | null = null;
  #begin: () => void = () => {};
  #refuse: (error: unknown) => void = () => {};
  #reader: Reader | null = null;

  /** @param attempt stopped when the answer is no longer wanted */
  constructor(attempt: Attempt) {
    this.#attempt = attempt;
    this.begun = new Promise((resolve, reject) => {
      this.#begin = () => resolve(this);
      this.#refuse = reject;
    });
  }

  get status(): number {
    return this.#head.status;
  }

  get headers(): AnswerHead['headers'] {
    return this.#head.headers;
  }

  get full(): boolean {
    return this.#size > ahead;
  }

  head(head: AnswerHead): void {
    this.#head = head;
    this.#begin();
  }

  body(bytes: Buffer): void {
    if (this.#reader !== null) {
      this.#takeReader()?.resolve({ done: false, value: bytes });
      return;
    }
    this.#size += bytes.byteLength;
    this.#chunks.push(bytes);
  }

  /** The answer is complete. */
  end(): void {
    this.#over = {};
    this.#takeReader()?.resolve({ done: true, value: undefined });
  }

  /** The answer broke off, or never came. */
  fail(error: unknown): void {
    this.#over = { error };
    this.#refuse(error);
    this.#takeReader()?.reject(error);
  }

  /** Discards the rest. @param reason the error for a reader that continues */
  destroy(reason: Error = new Error('the answer is not wanted any more')): void {
    if (this.#over === null) this.#attempt.stop(reason);
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer, undefined> {
    return {
      next: () => this.#next(),
      return: async () => {
        this.destroy();
        return { done: true, value: undefined };
      },
    };
  }

  /** One call at a time. */
  async #next(): Promise<Next> {
    if (this.#attempt.stopped) throw this.#attempt.reason;
    const bytes = this.#chunks.shift();
    if (bytes !== undefined) {
      const wasFull = this.full;
      this.#size -= bytes.byteLength;
      if (wasFull && !this.full) this.onRoom?.();
      return { done: false, value: bytes };
    }
    if (this.#over === null) {
      return new Promise((resolve, reject) => {
        this.#reader = { resolve, reject };
      });
    }
    if ('error' in this.#over) throw this.#over.error;
    return { done: true, value: undefined };
  }

  #takeReader(): Reader | null {
    const reader = this.#reader;
    this.#reader = null;
    return reader;
  }
}
