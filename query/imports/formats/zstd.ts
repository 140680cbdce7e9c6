import * as zlib from 'node:zlib';
import { decompressZstd } from 'hyparquet-compressors';

/** From Node.js 22.15 on there is a native one. */
const { zstdDecompressSync } = zlib as unknown as {
  zstdDecompressSync?: (input: Uint8Array, options: { maxOutputLength: number }) => Uint8Array;
};

/** @param length of the bytes, when they are not compressed any more */
export function zstd(input: Uint8Array, length: number): Uint8Array {
  return zstdDecompressSync === undefined
    ? decompressZstd(input, new Uint8Array(length))
    : zstdDecompressSync(input, { maxOutputLength: length });
}
