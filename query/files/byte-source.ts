import { once } from 'node:events';
import { read } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import type { AsyncBuffer } from 'hyparquet';
import { type FileBytes, pieceBytes } from '../imports/formats/file-text.ts';
import { assertRange } from '../imports/formats/parquet-rows.ts';

/** Where a thread finds the bytes of a file: an open file of the process, or a URL on this machine (byte-server.ts). */
export type ByteSource = { readonly fd: number } | { readonly url: string };

const readAt = promisify(read);

/** The bytes of a file from its beginning, in a thread. */
export function bytesOf(source: ByteSource): FileBytes {
  const chunks = 'fd' in source ? piecesOf(source.fd) : download(source.url);
  return { bytesRead: 0, [Symbol.asyncIterator]: () => chunks };
}

/** A stream of `fs` would close the file when its reader leaves. */
async function* piecesOf(fd: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; ; ) {
    const { bytesRead, buffer } = await readAt(fd, Buffer.allocUnsafe(pieceBytes), 0, pieceBytes, at);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

/** Some bytes of a file, in a thread. @param end the position behind them */
async function bytesBetween(source: ByteSource, start: number, end: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(end - start);
  if (bytes.byteLength === 0) return bytes;
  if ('fd' in source) {
    await readAt(source.fd, bytes, 0, bytes.byteLength, start);
    return bytes;
  }
  let at = 0;
  for await (const chunk of download(source.url, { range: `bytes=${start}-${end - 1}` })) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}

/** A Parquet file, in a thread. @param size in bytes */
export function fileOf(source: ByteSource, size: number): AsyncBuffer {
  return {
    byteLength: size,
    async slice(start, end = size) {
      assertRange(start, end, size);
      return (await bytesBetween(source, start, end)).buffer as ArrayBuffer;
    },
  };
}

async function* download(url: string, headers = {}): AsyncGenerator<Uint8Array> {
  const [response] = (await once(get(url, { headers }), 'response')) as [IncomingMessage];
  if (response.statusCode !== 200 && response.statusCode !== 206)
    throw new Error(`the file was answered with ${response.statusCode}`);
  yield* response;
}
