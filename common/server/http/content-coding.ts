import { pipeline, type Readable } from 'node:stream';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { invalidBody, payloadTooLarge, unsupportedCoding } from '#kernel/errors/catalogue.ts';
import type { HttpRequest } from './http-types.ts';

type Decode = (bytes: Uint8Array, options: { maxOutputLength: number }) => Promise<Uint8Array>;

const { zstdDecompress } = zlib as unknown as { zstdDecompress?: typeof zlib.gunzip };
/** Node.js has zstd from 22.15 on. */
const decoders: Readonly<Record<string, Decode>> = {
  gzip: promisify(zlib.gunzip),
  deflate: promisify(zlib.inflate),
  ...(zstdDecompress && { zstd: promisify(zstdDecompress) }),
};
const known = Object.keys(decoders).join(', ');

/** The Content-Encoding of a request (RFC 9110 section 8.4); null: its body is not compressed. */
export function declaredCoding(request: Pick<HttpRequest, 'header'>): string | null {
  const given = request.header('content-encoding')?.trim().toLowerCase() ?? '';
  return given === '' || given === 'identity' ? null : given;
}

/** The Content-Encoding of a request. Throws 415 for an unsupported one. */
export function codingOf(request: Pick<HttpRequest, 'header'>): string | null {
  const said = declaredCoding(request);
  const name = said === 'x-gzip' ? 'gzip' : said;
  if (name !== null && !Object.hasOwn(decoders, name)) throw unsupportedCoding(known);
  return name;
}

/**
 * The best coding of an answer for an Accept-Encoding (RFC 9110 section 12.5.3); null: uncompressed.
 * @param known the supported codings, the best first
 */
export function preferredCoding(accepted: string, known: readonly string[]): string | null {
  const weights = new Map<string, number>();
  for (const item of accepted.toLowerCase().split(',')) {
    const [name = '', weight = 'q=1'] = item.split(';').map((part) => part.trim());
    weights.set(name.replace(/^x-/, ''), Number(/^q=([01](?:\.\d{0,3})?)$/.exec(weight)?.[1] ?? 0));
  }
  const weightOf = (name: string): number => weights.get(name) ?? weights.get('*') ?? 0;
  const [best] = known.toSorted((a, b) => weightOf(b) - weightOf(a));
  if (best === undefined || weightOf(best) === 0) return null;
  return weightOf(best) < (weights.get('identity') ?? 0) ? null : best;
}

const { createZstdDecompress } = zlib as unknown as { createZstdDecompress: typeof zlib.createGunzip };
const streams: Readonly<Record<string, typeof zlib.createGunzip>> = {
  gzip: zlib.createGunzip,
  deflate: zlib.createInflate,
  zstd: createZstdDecompress,
};

/** Decompresses a body while it arrives, in zlib's threads. Rejects with 400. @param chunkSize bytes of a piece, at most */
export async function* decodeStream(
  sent: Readable,
  coding: string,
  chunkSize: number,
): AsyncGenerator<Uint8Array> {
  const decoder = (streams[coding] as typeof zlib.createGunzip)({ chunkSize });
  try {
    // whoever reads the decoder gets the errors of both
    yield* pipeline(sent, decoder, () => {}) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw /^(?:Z_|ZSTD_|ERR_ZSTD)/.test((error as NodeJS.ErrnoException).code ?? '')
      ? notCoded(coding, error)
      : error;
  }
}

/** Decompresses a body. Throws 400, and 413 beyond the limit. */
export async function decodeBody(bytes: Uint8Array, coding: string, limit: number): Promise<Uint8Array> {
  try {
    return await (decoders[coding] as Decode)(bytes, { maxOutputLength: limit });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw payloadTooLarge(limit, 'Request body');
    throw notCoded(coding, error);
  }
}

function notCoded(coding: string, cause: unknown) {
  return invalidBody(`Request body is not ${coding}, as Content-Encoding says`, cause);
}
