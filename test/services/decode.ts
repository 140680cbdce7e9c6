import * as zlib from 'node:zlib';

const { zstdDecompressSync } = zlib as unknown as { zstdDecompressSync?: typeof zlib.gunzipSync };

/** The coding that a client which accepts any gets. */
export const bestCoding = zstdDecompressSync === undefined ? 'gzip' : 'zstd';

/** The bytes of an answer without its coding. */
export function decode(bytes: Buffer, coding: string | undefined): Buffer {
  if (coding === 'gzip') return zlib.gunzipSync(bytes);
  return coding === 'zstd' && zstdDecompressSync !== undefined ? zstdDecompressSync(bytes) : bytes;
}
