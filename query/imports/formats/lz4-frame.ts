const magic = 0x184d2204;

/**
 * Decompresses an LZ4 frame (https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md), as Arrow writes columns. Its
 * blocks may refer to earlier ones. Throws a RangeError if it is damaged; checksums are ignored.
 * @param length of the decompressed bytes
 */
export function decompressLz4Frame(frame: Uint8Array, length: number): Uint8Array {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  if (view.getUint32(0, true) !== magic) throw new RangeError('not an LZ4 frame');
  const flags = view.getUint8(4);
  const hasBlockChecksums = (flags & 0x10) !== 0;
  // after the flags: the largest block, the size of the content, the id of a dictionary, and a checksum
  let at = 7 + ((flags & 0x08) === 0 ? 0 : 8) + ((flags & 0x01) === 0 ? 0 : 4);
  const output = new Uint8Array(length);
  let size = 0;
  for (;;) {
    const word = view.getUint32(at, true);
    at += 4;
    if (word === 0) break;
    const bytes = word & 0x7fffffff;
    if (at + bytes > frame.byteLength) throw new RangeError('a block is cut');
    const block = frame.subarray(at, at + bytes);
    if (word === bytes) size = decompressBlock(block, output, size);
    else {
      output.set(block, size);
      size += bytes;
    }
    at += bytes + (hasBlockChecksums ? 4 : 0);
  }
  if (size !== length) throw new RangeError('the frame has a wrong length');
  return output;
}

/** https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md. Returns where the output ends. */
function decompressBlock(block: Uint8Array, output: Uint8Array, from: number): number {
  let at = 0;
  let to = from;
  const lengthOf = (nibble: number): number => {
    let length = nibble;
    if (nibble < 15) return length;
    for (let byte = 255; byte === 255; length += byte) {
      if (at >= block.length) throw new RangeError('a length is cut');
      byte = block[at++] as number;
    }
    return length;
  };
  while (at < block.length) {
    const token = block[at++] as number;
    const literals = lengthOf(token >> 4);
    if (at + literals > block.length) throw new RangeError('a literal is cut');
    output.set(block.subarray(at, at + literals), to);
    at += literals;
    to += literals;
    // the last sequence has no match
    if (at === block.length) break;
    if (at + 2 > block.length) throw new RangeError('an offset is cut');
    const offset = (block[at] as number) | ((block[at + 1] as number) << 8);
    at += 2;
    const length = lengthOf(token & 15) + 4;
    if (offset === 0 || offset > to || to + length > output.length)
      throw new RangeError('a match is out of bounds');
    // a match may overlap its own output
    if (offset >= length) output.copyWithin(to, to - offset, to - offset + length);
    else
      for (let index = 0; index < length; index++) output[to + index] = output[to + index - offset] as number;
    to += length;
  }
  return to;
}
