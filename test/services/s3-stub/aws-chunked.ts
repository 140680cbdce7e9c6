import type { ChunkSignatures } from './chunk-signatures.ts';
import { s3Error } from './s3-error.ts';

const maxLineBytes = 4096;
const maxTrailerLines = 10;
const carriageReturn = 13;
const lineFeed = 10;

type State = 'size' | 'data' | 'data-end' | 'trailer' | 'done';

/**
 * Takes a body of `Content-Encoding: aws-chunked` apart, whatever pieces it arrives in:
 * `hex-size[;chunk-signature=...]\r\n data \r\n` again and again, a chunk of size 0, then trailer lines up to an
 * empty one. https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming-trailers.html
 */
export class AwsChunkedDecoder {
  /** Lower-case names; complete after `end`. */
  readonly trailer = new Map<string, string>();
  decodedBytes = 0;
  readonly #emit: (data: Buffer) => Promise<void> | undefined;
  readonly #signatures: ChunkSignatures | null;
  #state: State = 'size';
  #left = 0;
  #signature: string | undefined;
  #line = '';
  #lastChunk = false;
  readonly #trailerLines: string[] = [];

  constructor(emit: (data: Buffer) => Promise<void> | undefined, signatures: ChunkSignatures | null) {
    this.#emit = emit;
    this.#signatures = signatures;
  }

  /** Returns a promise when the receiver of the data asks to wait. */
  write(input: Buffer): Promise<void> | undefined {
    const waits: Promise<void>[] = [];
    for (let at = 0; at < input.length; ) {
      if (this.#state === 'done') throw malformed('bytes after the end of the body');
      if (this.#state === 'data') {
        const data = input.subarray(at, at + this.#left);
        at += data.length;
        const wait = this.#data(data);
        if (wait !== undefined) waits.push(wait);
      } else {
        at = this.#readLine(input, at);
      }
    }
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined);
  }

  end(): void {
    // the empty line after the last chunk is left out by some clients when there is no trailer
    if (this.#state === 'trailer' && this.#line === '' && this.#trailerLines.length === 0) this.#endTrailer();
    if (this.#state !== 'done') throw s3Error('IncompleteBody', 'The request body terminated unexpectedly');
  }

  #data(data: Buffer): Promise<void> | undefined {
    this.#signatures?.update(data);
    this.#left -= data.length;
    this.decodedBytes += data.length;
    if (this.#left === 0) this.#state = 'data-end';
    return this.#emit(data);
  }

  #readLine(input: Buffer, at: number): number {
    const end = input.indexOf(lineFeed, at);
    const stop = end === -1 ? input.length : end;
    this.#line += input.toString('latin1', at, stop);
    if (this.#line.length > maxLineBytes) throw malformed('a line is too long');
    if (end === -1) return input.length;
    const line =
      this.#line.charCodeAt(this.#line.length - 1) === carriageReturn ? this.#line.slice(0, -1) : this.#line;
    this.#line = '';
    this.#takeLine(line);
    return end + 1;
  }

  #takeLine(line: string): void {
    if (this.#state === 'size') this.#chunkHead(line);
    else if (this.#state === 'data-end') this.#chunkEnd(line);
    else if (line === '') this.#endTrailer();
    else this.#trailerLine(line);
  }

  #chunkHead(line: string): void {
    const match = /^([0-9a-fA-F]{1,12})(?:;chunk-signature=([0-9a-f]{64}))?$/.exec(line);
    if (match === null) throw malformed('a chunk has a malformed size line');
    this.#left = Number.parseInt(match[1] as string, 16);
    this.#signature = match[2];
    this.#lastChunk = this.#left === 0;
    this.#state = this.#lastChunk ? 'trailer' : 'data';
    if (this.#lastChunk) this.#signatures?.endChunk(this.#signature);
  }

  #chunkEnd(line: string): void {
    if (line !== '') throw malformed('a chunk is longer than its size');
    this.#signatures?.endChunk(this.#signature);
    this.#state = 'size';
  }

  #trailerLine(line: string): void {
    const colon = line.indexOf(':');
    if (colon < 1 || this.#trailerLines.length >= maxTrailerLines) {
      throw s3Error('MalformedTrailerError', 'The trailer is malformed');
    }
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    this.trailer.set(name, value);
    if (name !== 'x-amz-trailer-signature') this.#trailerLines.push(`${name}:${value}`);
  }

  #endTrailer(): void {
    this.#state = 'done';
    const signature = this.trailer.get('x-amz-trailer-signature');
    if (this.#signatures !== null && this.trailer.size > 0) {
      this.#signatures.endTrailer(this.#trailerLines, signature);
    }
  }
}

function malformed(what: string): Error {
  return s3Error('InvalidRequest', `The aws-chunked body is malformed: ${what}`);
}
