import type { Answer, AnswerOptions } from './answer.ts';

const headEnd = Buffer.from('\r\n\r\n');
const headLimit = 256 * 1024;
const noBytes = Buffer.alloc(0);

/** Reads one answer of HTTP/1.1 (RFC 9112). Interim answers (1xx) are skipped. */
export class AnswerParser {
  readonly #headOnly: boolean;
  readonly #options: AnswerOptions;
  #head: Buffer = noBytes;
  #text = '';
  #status = 0;
  #state: 'head' | 'length' | 'size' | 'chunk' | 'chunkEnd' | 'trailer' | 'connection' = 'head';
  #left = 0;
  #line = '';
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #bytes = 0;
  closes = false;

  constructor(headOnly: boolean, options: AnswerOptions) {
    this.#headOnly = headOnly;
    this.#options = options;
  }

  /** Whether the body lasts until the connection closes. */
  get endsWithConnection(): boolean {
    return this.#state === 'connection';
  }

  /** @returns the answer when it is whole. Throws for what is no answer. */
  add(chunk: Buffer): Answer | null {
    this.#bytes += chunk.byteLength;
    let at = 0;
    if (this.#state === 'head') {
      const begun = this.#head.byteLength;
      const head = begun === 0 ? chunk : Buffer.concat([this.#head, chunk]);
      const end = head.indexOf(headEnd, Math.max(0, begun - 3));
      if (end < 0) {
        if (head.byteLength > headLimit) throw new Error('the head of the answer has no end');
        this.#head = begun === 0 ? Buffer.from(head) : head;
        return null;
      }
      this.#head = noBytes;
      const whole = this.#readHead(head.toString('latin1', 0, end + 2));
      at = end + headEnd.byteLength - begun;
      if (this.#state === 'head' && this.#status < 200) {
        const rest = chunk.subarray(at);
        this.#bytes -= rest.byteLength;
        return rest.byteLength === 0 ? null : this.add(rest);
      }
      if (whole) return this.end();
    }
    return this.#addBody(chunk, at) ? this.end() : null;
  }

  end(): Answer {
    const body = this.#kept.length === 1 ? (this.#kept[0] as Buffer) : Buffer.concat(this.#kept);
    return { status: this.#status, head: this.#text, body, bytes: this.#bytes };
  }

  /** @returns whether the answer has no body */
  #readHead(text: string): boolean {
    const status = /^HTTP\/1\.[01] (\d{3})[ \r]/.exec(text)?.[1];
    if (status === undefined) throw new Error('the answer is not HTTP/1.1');
    this.#status = Number(status);
    if (this.#status < 200) return false;
    this.#text = text;
    const { closes, length, isChunked } = framingOf(text);
    this.closes = closes;
    if (this.#headOnly || this.#status === 204 || this.#status === 304) return true;
    if (isChunked) {
      this.#state = 'size';
      return false;
    }
    this.#state = length === null ? 'connection' : 'length';
    this.#left = length ?? 0;
    return length === 0;
  }

  /** @returns whether the body is whole */
  #addBody(chunk: Buffer, from: number): boolean {
    let at = from;
    while (at < chunk.byteLength) {
      if (this.#state === 'connection') {
        this.#take(chunk.subarray(at));
        return false;
      }
      if (this.#state === 'length' || this.#state === 'chunk') {
        const taken = Math.min(this.#left, chunk.byteLength - at);
        this.#take(chunk.subarray(at, at + taken));
        this.#left -= taken;
        at += taken;
        if (this.#left > 0) return false;
        if (this.#state === 'length') return true;
        this.#state = 'chunkEnd';
        continue;
      }
      const end = chunk.indexOf(10, at);
      this.#line += chunk.toString('latin1', at, end < 0 ? chunk.byteLength : end);
      if (this.#line.length > 4096) throw new Error('a chunk of the answer has no size');
      if (end < 0) return false;
      at = end + 1;
      if (this.#endLine()) return true;
    }
    return false;
  }

  /** @returns whether the line ends the answer */
  #endLine(): boolean {
    const line = this.#line.trimEnd();
    this.#line = '';
    if (this.#state === 'trailer') return line === '';
    if (this.#state === 'chunkEnd') {
      this.#state = 'size';
      return false;
    }
    if (!/^[0-9a-f]+/i.test(line)) throw new Error('a chunk of the answer has no size');
    this.#left = Number.parseInt(line, 16);
    this.#state = this.#left === 0 ? 'trailer' : 'chunk';
    return false;
  }

  #take(bytes: Buffer): void {
    this.#options.onBody?.(bytes);
    const room = (this.#options.keep ?? 0) - this.#keptBytes;
    if (room <= 0 || bytes.byteLength === 0) return;
    const kept = Buffer.from(bytes.subarray(0, room));
    this.#kept.push(kept);
    this.#keptBytes += kept.byteLength;
  }
}

/** What the fields of a head say of the body. A regular expression for each of them would take longer than all else. */
function framingOf(text: string) {
  let closes = text.startsWith('HTTP/1.0');
  let length: number | null = null;
  let isChunked = false;
  for (let at = text.indexOf('\n') + 1; at > 0 && at < text.length; at = text.indexOf('\n', at) + 1) {
    const colon = text.indexOf(':', at);
    if (colon < 0) break;
    const nameLength = colon - at;
    if (nameLength !== 10 && nameLength !== 14 && nameLength !== 17) continue;
    const name = text.slice(at, colon).toLowerCase();
    if (name !== 'connection' && name !== 'content-length' && name !== 'transfer-encoding') continue;
    const value = text
      .slice(colon + 1, text.indexOf('\n', colon))
      .trim()
      .toLowerCase();
    if (name === 'connection') closes ||= value.includes('close');
    else if (name === 'transfer-encoding') isChunked = value.endsWith('chunked');
    else if (/^\d+$/.test(value)) length = Number(value);
    else throw new Error('the length of the answer is no number');
  }
  return { closes, length, isChunked };
}
