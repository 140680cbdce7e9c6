/** The status line and headers of an answer. */
export interface AnswerHead {
  readonly status: number;
  /** The reason phrase; may be empty. */
  readonly reason: string;
  /** Lower-case names; a repeated header has its last value. */
  readonly headers: ReadonlyMap<string, string>;
}

/** The receiver of an answer. An error thrown by a method ends the reading. */
export interface AnswerSink {
  head(head: AnswerHead): void;
  /** A chunk of the body. Its bytes are never overwritten. */
  body(bytes: Buffer): void;
}

/** The response is not HTTP, or exceeds a limit. Its code has the prefix of Node's own parser. */
export class BrokenAnswer extends Error {
  readonly code = 'HPE_BROKEN_ANSWER';
  constructor(message: string) {
    super(message);
    this.name = 'BrokenAnswer';
  }
}

/** The body is larger than the caller's limit. */
export class AnswerTooLong extends BrokenAnswer {
  constructor() {
    super('the answer is too long');
    this.name = 'AnswerTooLong';
  }
}

/** Bytes of a head, and of the lines around chunks. */
const maxHead = 32 * 1024;
const maxLine = 4096;
const statusLine = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*([\t\x20-\x7e\x80-\xff]*?)[\t ]*$/;
const chunkLine = /^([0-9a-f]{1,8})[\t ]*(?:;.*)?$/i;

/** What the parser expects next. `rest`: bytes until the connection ends. */
type Step = 'head' | 'length' | 'rest' | 'chunk line' | 'chunk' | 'chunk end' | 'trailer' | 'done';

/** Parses the answer to a request (RFC 9112) from chunks of any size. */
export class AnswerParser {
  readonly #sink: AnswerSink;
  #step: Step = 'head';
  /** Bytes of an incomplete line or head. */
  #kept: Buffer | null = null;
  /** Remaining bytes of the body or the chunk. */
  #left = 0;
  #keepAlive = false;
  #idleTimeout = Number.POSITIVE_INFINITY;
  readonly #noBody: boolean;

  /** @param options.noBody the request is a HEAD, whose answer ends with its head (RFC 9112 section 6.3) */
  constructor(sink: AnswerSink, { noBody = false }: { readonly noBody?: boolean | undefined } = {}) {
    this.#sink = sink;
    this.#noBody = noBody;
  }

  /** Whether the server accepts another request on this connection. Known once the answer is complete. */
  get keepAlive(): boolean {
    return this.#keepAlive;
  }

  /** How long the server keeps an idle connection, if it says so. Milliseconds. */
  get idleTimeout(): number {
    return this.#idleTimeout;
  }

  /** Parses the next bytes. Returns whether the answer is complete. Throws a BrokenAnswer, or an error of the sink. */
  feed(chunk: Buffer): boolean {
    const bytes = this.#kept === null ? chunk : Buffer.concat([this.#kept, chunk]);
    this.#kept = null;
    let at = 0;
    while (this.#step !== 'done') {
      const next = this.#read(bytes, at);
      if (next === -1) {
        if (at < bytes.byteLength) this.#kept = bytes.subarray(at);
        return false;
      }
      at = next;
    }
    // bytes after the end belong to no request
    if (at < bytes.byteLength) this.#keepAlive = false;
    return true;
  }

  /** Handles the end of the connection. Returns whether it completes the answer. */
  end(): boolean {
    return this.#step === 'rest';
  }

  /** Parses one element. Returns the position after it; -1: it is incomplete. */
  #read(bytes: Buffer, at: number): number {
    switch (this.#step) {
      case 'head':
        return this.#readHead(bytes, at);
      case 'length':
      case 'chunk':
      case 'rest':
        return this.#readBody(bytes, at);
      case 'chunk line':
        return this.#readChunkLine(bytes, at);
      case 'chunk end':
        if (bytes.byteLength < at + 2) return -1;
        if (bytes[at] !== 13 || bytes[at + 1] !== 10) throw brokenChunk();
        this.#step = 'chunk line';
        return at + 2;
      default: {
        const end = lineEnd(bytes, at);
        if (end === at) this.#step = 'done';
        return end === -1 ? -1 : end + 2;
      }
    }
  }

  #readHead(bytes: Buffer, at: number): number {
    const end = bytes.indexOf('\r\n\r\n', at);
    if (end > at + maxHead || (end === -1 && bytes.byteLength > at + maxHead + 3)) {
      throw new BrokenAnswer('the head of the answer is too long');
    }
    if (end === -1) return -1;
    const { keepAlive, ...head } = readHead(bytes.toString('latin1', at, end));
    // an interim answer, such as 100 Continue
    if (head.status < 200) return end + 4;
    const framing = this.#noBody ? 0 : framingOf(head);
    this.#keepAlive = keepAlive && framing !== 'rest';
    this.#left = typeof framing === 'number' ? framing : Number.POSITIVE_INFINITY;
    if (typeof framing === 'string') this.#step = framing;
    else this.#step = framing === 0 ? 'done' : 'length';
    // https://datatracker.ietf.org/doc/html/draft-thomson-hybi-http-timeout-03#section-2
    const [, timeout] = /\btimeout=(\d{1,9})/i.exec(head.headers.get('keep-alive') ?? '') ?? [];
    if (timeout !== undefined) this.#idleTimeout = Number(timeout) * 1000;
    this.#sink.head(head);
    return end + 4;
  }

  #readBody(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.byteLength, at + this.#left);
    if (end === at) return -1;
    this.#left -= end - at;
    if (this.#left === 0) this.#step = this.#step === 'chunk' ? 'chunk end' : 'done';
    this.#sink.body(bytes.subarray(at, end));
    return end;
  }

  /** https://www.rfc-editor.org/rfc/rfc9112#section-7.1 */
  #readChunkLine(bytes: Buffer, at: number): number {
    const end = lineEnd(bytes, at);
    if (end === -1) return -1;
    const [, size] = chunkLine.exec(bytes.toString('latin1', at, end)) ?? [];
    if (size === undefined) throw brokenChunk();
    this.#left = Number.parseInt(size, 16);
    this.#step = this.#left === 0 ? 'trailer' : 'chunk';
    return end + 2;
  }
}

function lineEnd(bytes: Buffer, at: number): number {
  const end = bytes.indexOf('\r\n', at);
  if (end === -1 && bytes.byteLength > at + maxLine) throw brokenChunk();
  return end;
}

function brokenChunk(): BrokenAnswer {
  return new BrokenAnswer('a chunk of the answer is broken');
}

function readHead(text: string): AnswerHead & { readonly keepAlive: boolean } {
  const [first = '', ...lines] = text.split('\r\n');
  const [matched, minor, status, reason = ''] = statusLine.exec(first) ?? [];
  if (matched === undefined) throw new BrokenAnswer('the answer is not HTTP/1.1');
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name, value] = headerLine.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new BrokenAnswer('a header of the answer is broken');
    const key = name.toLowerCase();
    if (key === 'content-length' && (headers.get(key) ?? value) !== value) {
      throw new BrokenAnswer('the answer has two lengths');
    }
    headers.set(key, value);
  }
  const connection = (headers.get('connection') ?? '').toLowerCase();
  const keepAlive = minor === '1' ? !/\bclose\b/.test(connection) : /\bkeep-alive\b/.test(connection);
  return { status: Number(status), reason, headers, keepAlive };
}

/** The length of the body, or how its end is found. https://www.rfc-editor.org/rfc/rfc9112#section-6.3 */
function framingOf({ status, headers }: AnswerHead): number | 'chunk line' | 'rest' {
  if (status === 204 || status === 304) return 0;
  const coding = headers.get('transfer-encoding');
  const length = headers.get('content-length');
  if (coding !== undefined) {
    if (coding.toLowerCase() !== 'chunked' || length !== undefined) {
      throw new BrokenAnswer('the end of the answer is ambiguous');
    }
    return 'chunk line';
  }
  if (length === undefined) return 'rest';
  if (!/^\d{1,15}$/.test(length)) throw new BrokenAnswer('the length of the answer is not a number');
  return Number(length);
}
