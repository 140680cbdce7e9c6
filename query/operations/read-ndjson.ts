import { Readable } from 'node:stream';
import { invalidBody, overloaded, payloadTooLarge } from '#kernel/errors/catalogue.ts';
import { letOthersRun } from '#kernel/limits/yielding-loop.ts';
import { type MemoryKind, smallBody } from '#server/http/body-memory.ts';
import { codingOf, decodeStream } from '#server/http/content-coding.ts';
import type { HttpRequest, RequestBody } from '#server/http/http-types.ts';
import { JsonScanner, maxBodyValues } from '#server/http/json-scanner.ts';
import { jsonRecords } from '../imports/formats/json-records.ts';

/** Bytes that are parsed in one go, unless a line is longer. */
const pieceBytes = 64 * 1024;
/** How many more values than the first lines promise a body may have before it claims more. */
const headroom = 1.25;
/** Values that are claimed at least, once there are more. */
const moreValues = 50_000;

/**
 * Reads a request's body as NDJSON: its records, which are parsed as they arrive. @param limit bytes of the text; beyond it
 * the answer is 413, before or while it is read. Throws a 400 that names the line of invalid JSON. Memory counts as that of
 * an array does (`readJson`).
 */
export async function readNdjson(request: HttpRequest, limit: number): Promise<readonly unknown[]> {
  const { body, signal } = request;
  const coding = codingOf(request);
  if ((body.contentLength ?? 0) > limit) throw payloadTooLarge(limit, 'Request body');
  const lines = new ArrivingLines(body, limit, coding === null ? body.contentLength : undefined);
  try {
    await lines.begin();
    // nothing may wait between the two: errors of a stream that nobody reads would end the process
    const sent = readableOf(body, limit);
    for await (const chunk of coding === null ? sent : decodeStream(sent, coding, pieceBytes)) {
      const bytes = chunk as Uint8Array;
      for (let at = 0; at < bytes.byteLength; at += pieceBytes) {
        await lines.add(bytes.subarray(at, at + pieceBytes));
        await letOthersRun(signal);
      }
    }
    return lines.end();
  } finally {
    lines.releaseBytes();
  }
}

class ArrivingLines {
  readonly #body: RequestBody;
  readonly #limit: number;
  /** Bytes of the text; undefined: they are not known. */
  readonly #length: number | undefined;
  readonly #records: unknown[] = [];
  readonly #scanner = new JsonScanner({ isLines: true });
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  readonly #parser: ReturnType<typeof jsonRecords>;
  #size = 0;
  /** Values that are claimed; 0: the body is small so far, and claims none. */
  #claimed = 0;
  #releases: (() => void)[] = [];

  constructor(body: RequestBody, limit: number, length: number | undefined) {
    this.#body = body;
    this.#limit = limit;
    this.#length = length;
    this.#parser = jsonRecords('ndjson', { largest: limit });
  }

  /** Claims memory for the bytes that wait for the end of their line: of a body without a length, those of a small one. */
  begin(): Promise<void> {
    return this.#claimBytes(this.#length ?? Math.min(smallBody, this.#limit));
  }

  async add(bytes: Uint8Array): Promise<void> {
    const wasSmall = this.#size <= smallBody;
    this.#size += bytes.byteLength;
    if (this.#size > this.#limit) throw payloadTooLarge(this.#limit, 'Request body');
    this.#scanner.feed(bytes);
    if (this.#size > smallBody) {
      if (wasSmall && this.#length === undefined) await this.#claimBytes(this.#limit);
      if (this.#scanner.values > this.#claimed) await this.#claimValues(this.#scanner.values);
    }
    this.#parse(this.#decode(bytes), false);
  }

  /** The records. */
  end(): readonly unknown[] {
    this.#parse(this.#decode(), true);
    if (this.#records.length === 0)
      throw invalidBody('Request body is empty; it should have at least one record, each on its own line');
    return this.#records;
  }

  releaseBytes(): void {
    for (const release of this.#releases) release();
    this.#releases = [];
  }

  async #claimBytes(bytes: number): Promise<void> {
    const kind: MemoryKind = bytes <= smallBody ? 'small' : 'large';
    this.#releases.push(this.#body.tryClaim(kind, bytes) ?? (await this.#body.claim(kind, bytes)));
  }

  /**
   * Claims values for the whole body, by those of its beginning. Two requests that hold values and wait for more could wait
   * for each other, so only the first claim waits.
   */
  async #claimValues(values: number): Promise<void> {
    if (this.#claimed === 0) {
      const expected = Math.ceil((values / this.#size) * (this.#length ?? this.#limit) * headroom);
      const claimed = Math.min(expected, maxBodyValues);
      await this.#body.claim('values', claimed);
      this.#claimed = claimed;
    } else {
      const more = Math.max(values - this.#claimed, moreValues);
      if (this.#body.tryClaim('values', more) === null)
        throw overloaded('the request has more values than there is memory for');
      this.#claimed += more;
    }
  }

  #decode(bytes?: Uint8Array): string {
    try {
      return bytes === undefined ? this.#decoder.decode() : this.#decoder.decode(bytes, { stream: true });
    } catch (cause) {
      throw invalidBody('Request body is not valid UTF-8', cause);
    }
  }

  #parse(text: string, isLast: boolean): void {
    for (const { value, problem, line } of this.#parser.read(text, isLast)) {
      if (problem !== undefined)
        throw invalidBody(
          `Line ${line} of the request body: ${problem} (record at index ${this.#records.length})`,
        );
      this.#records.push(value);
    }
  }
}

/** @param limit bytes, as they are sent */
function readableOf(body: RequestBody, limit: number): Readable {
  // nothing is read ahead of the claims
  const stream = new Readable({ highWaterMark: 0, read: () => body.resume() });
  let size = 0;
  body.consume({
    write(chunk) {
      size += chunk.byteLength;
      if (size > limit) stream.destroy(payloadTooLarge(limit, 'Request body'));
      return stream.push(Uint8Array.from(chunk));
    },
    end: () => void stream.push(null),
    fail: (error) => void stream.destroy(error),
  });
  return stream;
}
