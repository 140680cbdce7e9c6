import * as zlib from 'node:zlib';
import { decompressZstd } from 'hyparquet-compressors';

/** Node.js has it since 22.15. */
const { zstdDecompressSync } = zlib as unknown as {
  zstdDecompressSync?: (input: Uint8Array, options: { maxOutputLength: number }) => Uint8Array;
};

/** Decompresses zstd. @param length of the decompressed bytes */
export function zstd(input: Uint8Array, length: number): Uint8Array {
  return zstdDecompressSync === undefined
    ? decompressZstd(input, new Uint8Array(length))
    : zstdDecompressSync(input, { maxOutputLength: length });
}
