import { createHash, type Hash } from 'node:crypto';
import { s3Error } from './s3-error.ts';
import { hmac, scopeText } from './sigv4.ts';
import type { VerifiedRequest } from './verify-signature.ts';

const emptyHash = createHash('sha256').digest('hex');

/**
 * The signatures of the chunks of one body, each resting on the one before it: section "Defining the Chunk Body" of
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html, and for the trailer
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming-trailers.html.
 */
export class ChunkSignatures {
  readonly #request: VerifiedRequest;
  #previous: string;
  #hash: Hash = createHash('sha256');

  constructor(request: VerifiedRequest) {
    this.#request = request;
    this.#previous = request.signature;
  }

  update(data: Buffer): void {
    this.#hash.update(data);
  }

  endChunk(signature: string | undefined): void {
    const hash = this.#hash.digest('hex');
    this.#hash = createHash('sha256');
    this.#verify(this.#sign('AWS4-HMAC-SHA256-PAYLOAD', `${emptyHash}\n${hash}`), signature);
  }

  /** `lines` are `name:value` without line ends, in the order of the body. */
  endTrailer(lines: readonly string[], signature: string | undefined): void {
    const hash = createHash('sha256');
    for (const line of lines) hash.update(`${line}\n`);
    this.#verify(this.#sign('AWS4-HMAC-SHA256-TRAILER', hash.digest('hex')), signature);
  }

  #sign(algorithm: string, hashes: string): string {
    const { amzDate, scope, key } = this.#request;
    const text = [algorithm, amzDate, scopeText(scope), this.#previous, hashes].join('\n');
    return hmac(key, text).toString('hex');
  }

  #verify(expected: string, signature: string | undefined): void {
    if (signature !== expected) {
      throw s3Error('SignatureDoesNotMatch', 'A chunk or trailer signature does not match.');
    }
    this.#previous = expected;
  }
}
