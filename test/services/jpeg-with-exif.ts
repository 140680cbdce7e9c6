/** A JPEG with an Exif segment: a first directory with an orientation, and a second one with a small picture. */
export function jpegWithExif({
  picture,
  orientation = 1,
  little = true,
  rest = new Uint8Array(),
}: {
  readonly picture: Uint8Array;
  readonly orientation?: number;
  readonly little?: boolean;
  /** What follows the segment. */
  readonly rest?: Uint8Array;
}): Uint8Array<ArrayBuffer> {
  // the header, a directory of one entry, one of two, and the picture
  const [first, second, data] = [8, 26, 56];
  const tiff = new DataView(new ArrayBuffer(data + picture.byteLength));
  tiff.setUint16(0, little ? 0x4949 : 0x4d4d);
  tiff.setUint16(2, 42, little);
  tiff.setUint32(4, first, little);
  tiff.setUint16(first, 1, little);
  tiff.setUint16(first + 2, 0x0112, little);
  tiff.setUint16(first + 4, 3, little);
  tiff.setUint32(first + 6, 1, little);
  tiff.setUint16(first + 10, orientation, little);
  tiff.setUint32(first + 14, second, little);
  tiff.setUint16(second, 2, little);
  for (const [index, [tag, value]] of [
    [0x0201, data] as const,
    [0x0202, picture.byteLength] as const,
  ].entries()) {
    const entry = second + 2 + 12 * index;
    tiff.setUint16(entry, tag, little);
    tiff.setUint16(entry + 2, 4, little);
    tiff.setUint32(entry + 4, 1, little);
    tiff.setUint32(entry + 8, value, little);
  }
  const length = 2 + 6 + tiff.byteLength;
  new Uint8Array(tiff.buffer).set(picture, data);
  const head = [0xff, 0xd8, 0xff, 0xe1, length >> 8, length & 0xff, ...Buffer.from('Exif\0\0')];
  return new Uint8Array([...head, ...new Uint8Array(tiff.buffer), ...rest]);
}
