export interface EmbeddedThumbnail {
  /** A JPEG. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Clockwise rotation for display, in degrees: the picture has the orientation of the sensor. */
  readonly degrees: number;
}

const degreesOf: Readonly<Record<number, number>> = { 3: 180, 6: 90, 8: 270 };

/**
 * The small picture that cameras and phones put at the beginning of a JPEG: CIPA DC-008 (Exif 2.32), 4.5.4 and 4.5.8.
 * @returns null if there is none, or it ends after these bytes
 */
export function embeddedThumbnail(file: Uint8Array<ArrayBuffer>): EmbeddedThumbnail | null {
  try {
    const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
    if (view.getUint16(0) !== 0xffd8) return null;
    // the segments of applications come first
    for (let at = 2; view.getUint16(at) >> 4 === 0xffe; at += 2 + view.getUint16(at + 2)) {
      const isExif = view.getUint16(at) === 0xffe1 && view.getUint32(at + 4) === 0x45786966;
      if (isExif) return ofTiff(file.subarray(at + 10, at + 2 + view.getUint16(at + 2)));
    }
    return null;
  } catch {
    return null;
  }
}

function ofTiff(tiff: Uint8Array<ArrayBuffer>): EmbeddedThumbnail | null {
  const view = new DataView(tiff.buffer, tiff.byteOffset, tiff.byteLength);
  const little = view.getUint16(0) === 0x4949;
  const [main, next] = readDirectory(view, view.getUint32(4, little), little);
  if (next === 0) return null;
  const [small] = readDirectory(view, next, little);
  const [offset = 0, length = 0] = [small.get(0x0201), small.get(0x0202)];
  const bytes = tiff.slice(offset, offset + length);
  if (length === 0 || bytes.length < length) return null;
  // a SHORT is in the first two of the four bytes
  const orientation = main.get(0x0112) ?? 1;
  return { bytes, degrees: degreesOf[little ? orientation & 0xffff : orientation >>> 16] ?? 0 };
}

/** The values of a directory by their tags, and where the next one is. */
function readDirectory(view: DataView, at: number, little: boolean): [ReadonlyMap<number, number>, number] {
  const count = view.getUint16(at, little);
  const entries = Array.from({ length: count }, (_, index): [number, number] => {
    const entry = at + 2 + 12 * index;
    return [view.getUint16(entry, little), view.getUint32(entry + 8, little)];
  });
  return [new Map(entries), view.getUint32(at + 2 + 12 * count, little)];
}
