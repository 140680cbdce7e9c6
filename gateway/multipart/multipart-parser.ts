import { Dicer } from '@fastify/busboy';
import { invalidMultipart } from '#kernel/errors/catalogue.ts';
import { type PartHead, type RawHeaders, readPartHead } from './part-head.ts';

export const maxParts = 100;
/** Room for a percent-encoded name of 1,000 four-byte characters. */
const maxHeaderBytes = 16 * 1024;

export interface MultipartEvents {
  /** A part begins. Returns the consumer of its bytes; a chunk is valid only during the call. Errors fail `feed`. */
  onPart(head: PartHead): (chunk: Uint8Array) => void;
  /** All parts have been delivered, and the closing boundary was seen. */
  onEnd(): void;
  /** The body turned out to be malformed at its end: 400. */
  onError(error: Error): void;
}

/**
 * Splits a multipart body into its parts as it arrives (RFC 2046 section 5.1). All bytes are delivered within `feed`,
 * without a copy: a chunk may be reused as soon as `feed` returns.
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
    // the parser silently truncates headers at its limit, so that limit is above ours
    const limits = { boundary, maxHeaderPairs: maxHeaderBytes, maxHeaderSize: 2 * maxHeaderBytes };
    this.#dicer = new Dicer(limits);
    this.#dicer.on('part', (part) => this.#begin(part));
    this.#dicer.on('finish', () => this.#finish());
    this.#dicer.on('error', (cause) => this.#truncated(cause));
  }

  /** Takes the next bytes of the body. Throws a 400, or the error of a part's consumer. */
  feed(chunk: Uint8Array): void {
    // an epilogue after the closing boundary is ignored (RFC 2046 section 5.1.1)
    if (this.#ended) return;
    this.#fed += chunk.byteLength;
    this.#dicer.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    if (this.#dicer.writableLength > 0 || (this.#part?.readableLength ?? 0) > 0) {
      throw new Error('the multipart parser kept bytes whose memory is about to be reused');
    }
  }

  /** The body has ended: calls `onEnd` or `onError`, unless one was called before. */
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
    // the parser itself reports that a truncated part fails the whole body
    part.on('error', () => {});
    // once a stream was read, it emits new chunks at once, not in the next tick
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
