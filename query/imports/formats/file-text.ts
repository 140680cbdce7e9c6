import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import * as zlib from 'node:zlib';
import { FileProblem } from './file-problem.ts';

export const pieceBytes = 512 * 1024;

/** A piece of a file's text. */
export interface TextPiece {
  readonly text: string;
  /** The last piece may be empty. */
  readonly isLast: boolean;
  /** Bytes of the file that were read, as they were sent. */
  readonly bytesRead: number;
}

/** The bytes of a file, in order. */
export interface FileBytes extends AsyncIterable<Uint8Array> {
  /** How many were read so far. */
  readonly bytesRead: number;
}

/** Reads the text of a file on the disk with `decodeText`. */
export async function* readText(path: string, mostBytes: number): AsyncGenerator<TextPiece> {
  const file = createReadStream(path, { highWaterMark: pieceBytes });
  try {
    yield* decodeText(file, mostBytes);
  } finally {
    file.destroy();
  }
}

/**
 * Decodes the text of a file. Its first bytes show whether it is compressed with gzip or zstd. Throws a FileProblem if it is
 * not UTF-8, or has more than `mostBytes` bytes of text.
 */
export async function* decodeText(file: FileBytes, mostBytes: number): AsyncGenerator<TextPiece> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let size = 0;
  let isFirst = true;
  const decode = (bytes?: Uint8Array): string => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
    } catch {
      throw notUtf8(size, bytes);
    }
  };
  try {
    for await (const bytes of await decompress(file)) {
      if (isFirst) refuseOtherEncodings(bytes);
      isFirst = false;
      size += bytes.byteLength;
      if (size > mostBytes)
        throw new FileProblem(null, `it has more than ${mostBytes} bytes when decompressed`);
      yield { text: decode(bytes), isLast: false, bytesRead: file.bytesRead };
    }
    yield { text: decode(), isLast: true, bytesRead: file.bytesRead };
  } catch (error) {
    throw asFileProblem(error);
  }
}

/** @param size of the text up to the end of `bytes`, in which the problem is; undefined: it ends within a character */
function notUtf8(size: number, bytes: Uint8Array = new Uint8Array()): FileProblem {
  const start = size - bytes.byteLength;
  let [valid, invalid] = [0, bytes.byteLength];
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >> 1;
    if (isUtf8(bytes.subarray(0, middle))) valid = middle;
    else invalid = middle;
  }
  // lines of earlier pieces were not counted
  const line =
    start === 0 ? ` in line ${bytes.subarray(0, valid).filter((byte) => byte === 10).length + 1}` : '';
  const where = `near byte ${start + valid}${line}`;
  return new FileProblem(
    null,
    `it is not valid UTF-8 ${where}: save it as UTF-8, which spreadsheets call “CSV UTF-8”`,
  );
}

/** Whether the bytes are the beginning of a text in UTF-8. */
function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** A FileProblem, if the error is about compressed data. */
export function asFileProblem(error: unknown): unknown {
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

/** Decompresses gzip and zstd, and leaves other bytes as they are. */
export async function decompress(file: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
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
  const decompressor = decompressorOf(head);
  if (decompressor === null) return whole;
  // the reader of the decompressor gets the errors
  return pipeline(Readable.from(whole), decompressor, () => {});
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
