export interface Answer {
  readonly status: number;
  /** The status line and the fields, as Latin-1. */
  readonly head: string;
  /** The body, if the request asked to keep it. */
  readonly body: Buffer;
  /** Of the head and the body. */
  readonly bytes: number;
}

/** What a request wants of its answer. */
export interface AnswerOptions {
  /** Bytes of the body that are kept; 0 by default. */
  readonly keep?: number;
  /** Gets the bytes of the body as they come. They are valid only during the call. */
  readonly onBody?: (bytes: Buffer) => void;
  readonly signal?: AbortSignal;
}

/** Bytes that are there, that are made when there is room for them, or that come over time. */
export type RequestBody = Buffer | Iterable<Buffer> | AsyncIterable<Buffer>;
