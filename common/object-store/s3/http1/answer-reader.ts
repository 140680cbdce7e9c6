/** An answer, read to its end. */
export interface Http1Answer {
  readonly status: number;
  /** The reason phrase; may be empty. */
  readonly reason: string;
  /** Lower-case names; of a repeated one the last value. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  /** The server takes another request on this connection. */
  readonly keepAlive: boolean;
}

/** The bytes are no HTTP, or more of it than is read. The code begins as those of Node's own parser. */
export class BrokenAnswer extends Error {
  readonly code = 'HPE_BROKEN_ANSWER';
  constructor(message: string) {
    super(message);
    this.name = 'BrokenAnswer';
  }
}

/** Bytes. */
const maxHead = 32 * 1024;
const statusLine = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*([\t\x20-\x7e\x80-\xff]*?)[\t ]*$/;

type Framing =
  | { readonly kind: 'length'; readonly length: number }
  | { readonly kind: 'chunked' }
  /** Until the connection ends. */
  | { readonly kind: 'close' };

interface Head {
  readonly status: number;
  readonly reason: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly framing: Framing;
  readonly keepAlive: boolean;
}

/**
 * Reads answers to PUT requests (RFC 9112). They are a few headers, and a few lines of XML when something failed, so an
 * answer's bytes are kept as they are until it is whole.
 */
export class AnswerReader {
  readonly #maxBody: number;
  #kept: Buffer | null = null;
  #head: Head | null = null;

  /** @param maxBody bytes of a body, with its framing */
  constructor(maxBody: number) {
    this.#maxBody = maxBody;
  }

  /** Takes the next bytes. Returns the answer once it is whole, and null before. Throws a BrokenAnswer. */
  feed(chunk: Buffer): Http1Answer | null {
    let bytes = this.#kept === null ? chunk : Buffer.concat([this.#kept, chunk]);
    while (this.#head === null) {
      const end = bytes.indexOf('\r\n\r\n');
      if (end > maxHead || (end === -1 && bytes.byteLength > maxHead + 3)) {
        throw new BrokenAnswer('the head of the answer is too long');
      }
      if (end === -1) {
        this.#kept = bytes;
        return null;
      }
      const head = readHead(bytes.toString('latin1', 0, end));
      bytes = bytes.subarray(end + 4);
      // an interim answer, such as 100 Continue
      if (head.status >= 200) this.#head = head;
    }
    return this.#body(this.#head, bytes);
  }

  /** The connection has ended. Returns an answer that ends with it, and null when it is cut off. */
  end(): Http1Answer | null {
    if (this.#head?.framing.kind !== 'close') return null;
    return this.#answer(this.#head, this.#kept ?? Buffer.alloc(0), false);
  }

  #body(head: Head, bytes: Buffer): Http1Answer | null {
    const { framing } = head;
    if (framing.kind === 'length' && framing.length > this.#maxBody) throw tooLong();
    if (framing.kind === 'length' && bytes.byteLength >= framing.length) {
      return this.#answer(head, bytes.subarray(0, framing.length), bytes.byteLength === framing.length);
    }
    const chunked = framing.kind === 'chunked' ? readChunks(bytes) : null;
    if (chunked !== null) return this.#answer(head, chunked.body, bytes.byteLength === chunked.length);
    if (bytes.byteLength > this.#maxBody) throw tooLong();
    this.#kept = bytes;
    return null;
  }

  #answer({ status, reason, headers, keepAlive }: Head, body: Buffer, clean: boolean): Http1Answer {
    this.#kept = null;
    this.#head = null;
    const text = body.toString('utf8');
    // bytes after the end belong to no request
    return { status, reason, headers, text, keepAlive: keepAlive && clean };
  }
}

function readHead(text: string): Head {
  const [first = '', ...lines] = text.split('\r\n');
  const [matched, minor, status, reason = ''] = statusLine.exec(first) ?? [];
  if (matched === undefined) throw new BrokenAnswer('the answer is no HTTP/1.1');
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
  const framing = framingOf(Number(status), headers);
  const connection = (headers.get('connection') ?? '').toLowerCase();
  const keepAlive = minor === '1' ? !/\bclose\b/.test(connection) : /\bkeep-alive\b/.test(connection);
  return {
    status: Number(status),
    reason,
    headers,
    framing,
    keepAlive: keepAlive && framing.kind !== 'close',
  };
}

/** https://www.rfc-editor.org/rfc/rfc9112#section-6.3 */
function framingOf(status: number, headers: ReadonlyMap<string, string>): Framing {
  if (status < 200 || status === 204 || status === 304) return { kind: 'length', length: 0 };
  const coding = headers.get('transfer-encoding');
  const length = headers.get('content-length');
  if (coding !== undefined) {
    if (coding.toLowerCase() !== 'chunked' || length !== undefined) {
      throw new BrokenAnswer('nobody can tell where the answer ends');
    }
    return { kind: 'chunked' };
  }
  if (length === undefined) return { kind: 'close' };
  if (!/^\d{1,15}$/.test(length)) throw new BrokenAnswer('the length of the answer is no number');
  return { kind: 'length', length: Number(length) };
}

/** A chunked body from its beginning (RFC 9112 section 7.1); null when it is not whole yet. */
function readChunks(bytes: Buffer): { readonly body: Buffer; readonly length: number } | null {
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return null;
    const [, size] = /^([0-9a-f]{1,8})[\t ]*(?:;.*)?$/i.exec(bytes.toString('latin1', at, lineEnd)) ?? [];
    if (size === undefined) throw new BrokenAnswer('a chunk of the answer is broken');
    const start = lineEnd + 2;
    const end = start + Number.parseInt(size, 16);
    if (end === start) return readTrailers(bytes, start, chunks);
    if (bytes.byteLength < end + 2) return null;
    if (bytes[end] !== 13 || bytes[end + 1] !== 10) throw new BrokenAnswer('a chunk of the answer is broken');
    chunks.push(bytes.subarray(start, end));
    at = end + 2;
  }
}

function readTrailers(
  bytes: Buffer,
  start: number,
  chunks: readonly Buffer[],
): { readonly body: Buffer; readonly length: number } | null {
  let at = start;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return null;
    if (lineEnd === at) return { body: Buffer.concat(chunks), length: at + 2 };
    at = lineEnd + 2;
  }
}

function tooLong(): BrokenAnswer {
  return new BrokenAnswer('the answer is too long');
}
