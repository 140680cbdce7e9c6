import { invalidBody, payloadTooLarge } from '#kernel/errors/catalogue.ts';
import { forEachYielding } from '#kernel/limits/yielding-loop.ts';
import { smallBody } from './body-memory.ts';
import { codingOf, decodeBody } from './content-coding.ts';
import type { BodySink, HttpRequest, RequestBody } from './http-types.ts';
import { JsonScanner } from './json-scanner.ts';
import { parseJson } from './parse-json.ts';

/**
 * Reads a request's whole body as JSON. @param limit bytes; beyond it the answer is 413, before or while it is read.
 * Bytes and values count against the account's share of the process's memory; a request waits until there is some.
 */
export async function readJson(request: HttpRequest, limit: number): Promise<unknown> {
  const { body, signal } = request;
  const coding = codingOf(request);
  if (body.contentLength !== undefined && body.contentLength > limit) {
    throw payloadTooLarge(limit, 'Request body');
  }
  const collector = new BodyCollector(body, limit);
  try {
    const sent = await collector.collect(coding !== null);
    if (sent.byteLength === 0) throw invalidBody('Request body is empty; it should be JSON');
    const bytes = coding === null ? sent : await collector.decode(sent, coding, signal);
    if (collector.scanner === null) return await parseJson(bytes, signal);
    await body.claim('values', collector.scanner.values);
    return await parseJson(bytes, signal, collector.scanner.cuts);
  } finally {
    // the parsed values count by their own size
    collector.release();
  }
}

/**
 * Collects a body in one buffer: of its declared size, or, if it has none, first a small buffer and then the largest that
 * it may need. So the claim equals the allocation, and a request with its claim needs no more memory to finish.
 */
class BodyCollector implements BodySink {
  /** Counts the values of the body, unless it is small. */
  scanner: JsonScanner | null = null;
  readonly #body: RequestBody;
  readonly #limit: number;
  #buffer: Uint8Array = Buffer.alloc(0);
  #size = 0;
  #failed = false;
  #releases: (() => void)[] = [];
  #resolve: (bytes: Uint8Array) => void = nobodyWaits;
  #reject: (error: unknown) => void = nobodyWaits;

  constructor(body: RequestBody, limit: number) {
    this.#body = body;
    this.#limit = limit;
  }

  /** @param isCoded whether the JSON is compressed: memory for both forms is claimed at once, so that no request waits holding half */
  async collect(isCoded: boolean): Promise<Uint8Array> {
    const { contentLength } = this.#body;
    if (isCoded) {
      const bytes = contentLength ?? this.#limit;
      this.#releases.push(await this.#body.claim('large', bytes + this.#limit));
      this.#buffer = Buffer.allocUnsafeSlow(bytes);
    } else await this.#allocate(contentLength ?? Math.min(smallBody, this.#limit));
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#body.consume(this);
    });
  }

  /** The JSON of a compressed body. */
  async decode(sent: Uint8Array, coding: string, signal: AbortSignal): Promise<Uint8Array> {
    const bytes = await decodeBody(sent, coding, this.#limit);
    if (bytes.byteLength <= smallBody) return bytes;
    const scanner = new JsonScanner();
    const pieces = Array.from({ length: Math.ceil(bytes.byteLength / smallBody) }, (_, at) => at * smallBody);
    await forEachYielding(pieces, (at) => scanner.feed(bytes.subarray(at, at + smallBody)), signal);
    this.scanner = scanner;
    return bytes;
  }

  release(): void {
    for (const release of this.#releases) release();
    this.#releases = [];
  }

  async #allocate(bytes: number): Promise<void> {
    const kind = bytes <= smallBody ? 'small' : 'large';
    const release = this.#body.tryClaim(kind, bytes) ?? (await this.#body.claim(kind, bytes));
    if (this.#failed) return release();
    this.#releases.push(release);
    this.#grow(bytes, kind === 'large');
  }

  #grow(bytes: number, large: boolean): void {
    const buffer = large ? Buffer.allocUnsafeSlow(bytes) : Buffer.allocUnsafe(bytes);
    buffer.set(this.#buffer.subarray(0, this.#size));
    if (large) {
      this.scanner = new JsonScanner();
      this.scanner.feed(buffer.subarray(0, this.#size));
    }
    this.#buffer = buffer;
  }

  write(chunk: Uint8Array): boolean {
    if (this.#failed) return false;
    const size = this.#size + chunk.byteLength;
    if (size > this.#limit) return this.fail(payloadTooLarge(this.#limit, 'Request body'));
    if (size > this.#buffer.byteLength) return this.#makeRoom(chunk);
    try {
      this.scanner?.feed(chunk);
    } catch (error) {
      return this.fail(error);
    }
    this.#buffer.set(chunk, this.#size);
    this.#size = size;
    return true;
  }

  /** Without a length a body is not treated as small: the chunk is put back until there is room for the limit. */
  #makeRoom(chunk: Uint8Array): boolean {
    this.#body.putBack(chunk);
    this.#allocate(this.#limit).then(
      () => this.#body.resume(),
      (error: unknown) => this.fail(error),
    );
    return false;
  }

  end(): void {
    this.#resolve(this.#buffer.subarray(0, this.#size));
  }

  fail(error: unknown): false {
    this.#failed = true;
    this.#buffer = Buffer.alloc(0);
    this.#reject(error);
    return false;
  }
}

function nobodyWaits(): void {}
