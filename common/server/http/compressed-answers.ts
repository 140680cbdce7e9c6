import { pipeline, type Transform } from 'node:stream';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { FairShare } from '#kernel/limits/fair-share.ts';
import { preferredCoding } from './content-coding.ts';
import type { Exchange } from './exchange.ts';
import type { Headers, HttpResponse } from './http-types.ts';
import { variedBy } from './varied-by.ts';
import { isStream } from './write-response.ts';

/** A smaller answer fits into one packet anyway. */
const leastBytes = 1024;
/** Up to this size a thread costs more than the compression. */
const atOnceBytes = 16 * 1024;
/** Size of the cache of compressed answers, in uncompressed bytes. */
const keptBytes = 16 * 1024 ** 2;
const texts = /^(?:application\/(?:json|vnd\.oai\.openapi\+json)|text\/(?:html|css|javascript))\b/;

interface Coder {
  readonly atOnce: (bytes: Uint8Array) => Uint8Array;
  readonly onThread: (bytes: Uint8Array) => Promise<Uint8Array>;
  readonly stream: () => Transform;
}

/** The fastest levels: docs/decisions/069-compressed-answers.md. */
const gzip = { level: 1, chunkSize: 64 * 1024 };
const { zstdCompress, zstdCompressSync, createZstdCompress, constants } = zlib as unknown as {
  readonly zstdCompress?: (bytes: Uint8Array, options: object, done: (...args: never[]) => void) => void;
  readonly zstdCompressSync: (bytes: Uint8Array, options: object) => Uint8Array;
  readonly createZstdCompress: (options: object) => Transform;
  readonly constants: { readonly ZSTD_c_compressionLevel: number };
};
const zstd = { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize: 64 * 1024 };

/** The cheapest comes first. Node.js has zstd from 22.15 on. */
const coders: Readonly<Record<string, Coder>> = {
  ...(zstdCompress && {
    zstd: {
      atOnce: (bytes) => zstdCompressSync(bytes, zstd),
      onThread: (bytes) => promisify(zstdCompress)(bytes, zstd) as Promise<Uint8Array>,
      stream: () => createZstdCompress(zstd),
    },
  }),
  gzip: {
    atOnce: (bytes) => zlib.gzipSync(bytes, gzip),
    onThread: (bytes) => promisify<Uint8Array, object, Uint8Array>(zlib.gzip)(bytes, gzip),
    stream: () => zlib.createGzip(gzip),
  },
};
const codings = Object.keys(coders);

interface CompressedBytes {
  readonly coding: string;
  readonly bytes: Uint8Array | Promise<Uint8Array>;
}

/**
 * Compresses JSON and other text for clients that accept it. It uses few of Node's threads, because files are read and
 * written on them too; an answer that would wait for too long is sent uncompressed.
 */
export class CompressedAnswers {
  readonly #threads = new FairShare({ capacity: 4, queueLimit: 30, full: 'too many answers wait' });
  /** A slow reader holds the memory of its stream. */
  readonly #streams = new FairShare({ capacity: 16, share: 8, queueLimit: 0, full: '' });
  readonly #variedOf = new WeakMap<Headers, Headers | null>();
  readonly #seen = new WeakSet<Uint8Array>();
  readonly #kept = new LRUCache<Uint8Array, CompressedBytes>({
    maxSize: keptBytes,
    sizeCalculation: (_, body) => body.byteLength,
  });

  /** The answer as the client prefers it. */
  of(exchange: Exchange, plain: HttpResponse): HttpResponse | Promise<HttpResponse> {
    const { body, headers } = plain;
    if (body === undefined || (!isStream(body) && body.length < leastBytes)) return plain;
    const varied = headers === undefined ? null : this.#varied(headers);
    if (varied === null) return plain;
    const asIs = { status: plain.status, headers: varied, body };
    const accepted = exchange.header('accept-encoding');
    const coding = accepted === undefined ? null : preferredCoding(accepted, codings);
    if (coding === null) return asIs;
    const coder = coders[coding] as Coder;
    const account = exchange.body.account ?? '';
    const coded = { ...plain, headers: { ...varied, 'content-encoding': coding } };
    if (isStream(body)) {
      const claim = this.#streams.tryClaim(account, 1);
      if (claim === null) return asIs;
      exchange.onOver(claim.release);
      return { ...coded, body: { ...body, chunks: through(body.chunks, coder) } };
    }
    const bytes = this.#whole(coding, typeof body === 'string' ? Buffer.from(body) : body, account);
    if (!(bytes instanceof Promise)) return { ...coded, body: bytes };
    return bytes.then(
      (compressed) => ({ ...coded, body: compressed }),
      () => asIs,
    );
  }

  /** The headers of an answer that may be compressed; null: it may not. Most answers share one headers object. */
  #varied(headers: Headers): Headers | null {
    let varied = this.#variedOf.get(headers);
    if (varied === undefined) {
      // exports are downloaded as files
      const isText =
        texts.test(headers['content-type'] ?? '') && headers['content-disposition'] === undefined;
      varied = isText ? { ...headers, vary: variedBy(headers.vary, 'Accept-Encoding') } : null;
      this.#variedOf.set(headers, varied);
    }
    return varied;
  }

  /** A repeated answer is the same object, so it is compressed once. Rejects when too many wait. */
  #whole(coding: string, body: Uint8Array, account: string): CompressedBytes['bytes'] {
    const kept = this.#kept.get(body);
    if (kept?.coding === coding) return kept.bytes;
    const { atOnce, onThread } = coders[coding] as Coder;
    const bytes =
      body.byteLength <= atOnceBytes
        ? atOnce(body)
        : this.#threads.run(() => onThread(body), undefined, account);
    if (this.#seen.has(body)) this.#keep(body, { coding, bytes });
    this.#seen.add(body);
    return bytes;
  }

  #keep(body: Uint8Array, kept: CompressedBytes): void {
    this.#kept.set(body, kept);
    if (kept.bytes instanceof Promise) kept.bytes.catch(() => this.#kept.delete(body));
  }
}

/** Starts and ends with its reader, like the source. */
async function* through(source: AsyncIterable<Uint8Array>, { stream }: Coder): AsyncGenerator<Uint8Array> {
  yield* pipeline(source, stream(), () => {});
}
