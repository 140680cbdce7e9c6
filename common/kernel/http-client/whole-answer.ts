import { type AnswerHead, type AnswerSink, AnswerTooLong } from './answer-parser.ts';

/** An answer that is buffered until it is complete. */
export class WholeAnswer implements AnswerSink, AnswerHead {
  readonly #maxBody: number;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #head: AnswerHead = { status: 0, reason: '', headers: new Map() };

  /** @param maxBody most bytes of the body; a larger body throws an AnswerTooLong */
  constructor(maxBody: number) {
    this.#maxBody = maxBody;
  }

  get status(): number {
    return this.#head.status;
  }

  get reason(): string {
    return this.#head.reason;
  }

  get headers(): AnswerHead['headers'] {
    return this.#head.headers;
  }

  get bytes(): Buffer {
    return this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
  }

  get text(): string {
    return this.bytes.toString('utf8');
  }

  head(head: AnswerHead): void {
    this.#head = head;
    this.#check(Number(head.headers.get('content-length') ?? 0));
  }

  body(bytes: Buffer): void {
    this.#size += bytes.byteLength;
    this.#check(this.#size);
    this.#chunks.push(bytes);
  }

  #check(size: number): void {
    if (size > this.#maxBody) throw new AnswerTooLong();
  }
}
