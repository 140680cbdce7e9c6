import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import * as zlib from 'node:zlib';
import { FileProblem } from './file-problem.ts';

const pieceBytes = 512 * 1024;

/** A piece of a file's text. */
export interface TextPiece {
  readonly text: string;
  /** It may be empty. */
  readonly isLast: boolean;
  /** Of the file as it was sent. */
  readonly bytesRead: number;
}

/** Bytes of a file, in order. */
export interface FileBytes extends AsyncIterable<Uint8Array> {
  /** So far. */
  readonly bytesRead: number;
}

/** The text of a file on the disk, as `decodeText` reads it. */
export async function* textOf(path: string, most: number): AsyncGenerator<TextPiece> {
  const file = createReadStream(path, { highWaterMark: pieceBytes });
  try {
    yield* decodeText(file, most);
  } finally {
    file.destroy();
  }
}

/**
 * The text of a file, which may be compressed with gzip or zstd: its first bytes say so. Throws a FileProblem for what is
 * no UTF-8, and for more than `most` bytes of text.
 */
export async function* decodeText(file: FileBytes, most: number): AsyncGenerator<TextPiece> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let size = 0;
  let isFirst = true;
  const decode = (bytes?: Uint8Array): string => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
    } catch {
      throw new FileProblem(null, `it is not valid UTF-8 near byte ${size}`);
    }
  };
  try {
    for await (const bytes of await decompressed(file)) {
      if (isFirst) refuseOtherEncodings(bytes);
      isFirst = false;
      size += bytes.byteLength;
      if (size > most)
        throw new FileProblem(null, `it has more than ${most} bytes when it is not compressed`);
      yield { text: decode(bytes), isLast: false, bytesRead: file.bytesRead };
    }
    yield { text: decode(), isLast: true, bytesRead: file.bytesRead };
  } catch (error) {
    throw asFileProblem(error);
  }
}

function asFileProblem(error: unknown): unknown {
  const { code = '' } = error as NodeJS.ErrnoException;
  return /^(?:Z_|ZSTD_|ERR_ZSTD)/.test(code)
    ? new FileProblem(null, 'its compressed data is damaged, or cut')
    : error;
}

/** Throws a FileProblem for a byte order mark of UTF-16. */
function refuseOtherEncodings([first, second]: Uint8Array): void {
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    throw new FileProblem(null, 'it is UTF-16, and should be UTF-8');
}

/** Bytes as they were before gzip or zstd. */
export async function decompressed(file: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  const chunks = file[Symbol.asyncIterator]();
  const first = await chunks.next();
  const head = Buffer.from(first.done === true ? [] : first.value);
  const whole = (async function* () {
    try {
      yield head;
      for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value;
    } finally {
      await chunks.return?.();
    }
  })();
  const decompress = decompressorOf(head);
  if (decompress === null) return whole;
  // its reader gets the failures
  return pipeline(Readable.from(whole), decompress, () => {});
}

function decompressorOf(head: Buffer): (NodeJS.ReadWriteStream & AsyncIterable<Buffer>) | null {
  if (head[0] === 0x1f && head[1] === 0x8b) return zlib.createGunzip({ chunkSize: pieceBytes }) as never;
  if (head.length < 4 || head.readUInt32LE(0) !== 0xfd2fb528) return null;
  const { createZstdDecompress } = zlib as unknown as { createZstdDecompress?: () => never };
  if (createZstdDecompress === undefined)
    throw new FileProblem(
      null,
      'it is compressed with zstd, which needs Node.js 22.15 on the server; gzip works',
    );
  return createZstdDecompress();
}
