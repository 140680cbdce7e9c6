import { Dicer } from '@fastify/busboy';
import { invalidMultipart } from '#kernel/errors/catalogue.ts';
import { type PartHead, type RawHeaders, readPartHead } from './part-head.ts';

export const maxParts = 100;
/** Room for a name of 1,000 four-byte characters that is percent-encoded. */
const maxHeaderBytes = 16 * 1024;

export interface MultipartEvents {
  /** A part begins. Returns the consumer of its bytes; a chunk is only valid during the call. Errors fail `feed`. */
  onPart(head: PartHead): (chunk: Uint8Array) => void;
  /** The closing boundary has been seen and all parts have been handed out. */
  onEnd(): void;
  /** The body is broken in a way that shows only afterwards: 400. */
  onError(error: Error): void;
}

/**
 * Splits a multipart body into its parts while it arrives (RFC 2046 section 5.1). Every byte passes within `feed`,
 * without a copy and without waiting anywhere: a chunk may be reused as soon as `feed` returns.
 */
export class MultipartParser {
  readonly #dicer: Dicer;
  readonly #events: MultipartEvents;
  #fed = 0;
  #parts = 0;
  #part: Dicer.PartStream | null = null;
  #headSeen = true;
  #ended = false;

  constructor(boundary: string, events: MultipartEvents) {
    this.#events = events;
    // the parser cuts headers off at its limit in silence, so its limit is beyond the one that is checked
    const limits = { boundary, maxHeaderPairs: maxHeaderBytes, maxHeaderSize: 2 * maxHeaderBytes };
    this.#dicer = new Dicer(limits);
    this.#dicer.on('part', (part) => this.#begin(part));
    this.#dicer.on('finish', () => this.#finish());
    this.#dicer.on('error', (cause) => this.#truncated(cause));
  }

  /** Takes the next bytes of the body. Throws a 400, or the error of a part's consumer. */
  feed(chunk: Uint8Array): void {
    // after the closing boundary comes an epilogue, which is ignored (RFC 2046 section 5.1.1)
    if (this.#ended) return;
    this.#fed += chunk.byteLength;
    this.#dicer.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    if (this.#dicer.writableLength > 0 || (this.#part?.readableLength ?? 0) > 0) {
      throw new Error('the multipart parser kept bytes whose memory is about to be reused');
    }
  }

  /** The body is over: `onEnd` or `onError` follows, unless it has been called. */
  end(): void {
    if (!this.#ended) this.#dicer.end();
  }

  #begin(part: Dicer.PartStream): void {
    this.#requireHead();
    if (++this.#parts > maxParts) throw invalidMultipart(`The form has more than ${maxParts} parts`);
    this.#part = part;
    this.#headSeen = false;
    let consume: (chunk: Uint8Array) => void = () => {};
    part.on('header', (headers) => {
      this.#headSeen = true;
      consume = this.#events.onPart(readPartHead(headers as RawHeaders, maxHeaderBytes));
    });
    part.on('data', (chunk) => consume(chunk as Buffer));
    // a truncated part fails the whole body, which is reported by the parser itself
    part.on('error', () => {});
    // a stream that was read once hands on new chunks at once; before, it would keep them for the next tick
    part.read(0);
  }

  #requireHead(): void {
    if (!this.#headSeen)
      throw invalidMultipart('A part has no headers, or they do not end with an empty line');
  }

  #finish(): void {
    if (this.#ended) return;
    this.#ended = true;
    try {
      this.#requireHead();
    } catch (error) {
      this.#events.onError(error as Error);
      return;
    }
    this.#events.onEnd();
  }

  #truncated(cause: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events.onError(
      invalidMultipart(
        this.#fed === 0 ? 'The request body is empty' : 'The multipart body ends before its closing boundary',
        cause,
      ),
    );
  }
}
