import { isTurnedByExif } from './exif-orientation.ts';
import { type MediaSizes, sidesOf } from './sizes.ts';

/*
 * Sizes of pictures as they are shown. Each reader gets the first bytes of a file, and answers {} or throws a RangeError
 * when they end before the size, so that the caller may come back with more.
 */

/** Most chunks of a PNG or a WebP, and segments of a JPEG, that are passed over. */
const mostChunks = 2000;

/** https://www.w3.org/TR/png-3/#11IHDR; an eXIf chunk may come before the pixels. */
export function pngSize(head: Buffer): MediaSizes {
  if (head.toString('latin1', 12, 16) !== 'IHDR') return {};
  const [width, height] = [head.readUInt32BE(16), head.readUInt32BE(20)];
  let at = 8;
  for (let chunk = 0; chunk < mostChunks; chunk += 1) {
    const length = head.readUInt32BE(at);
    const name = head.toString('latin1', at + 4, at + 8);
    if (name === 'eXIf') return turned(head.subarray(at + 8, at + 8 + length), width, height);
    if (name === 'IDAT' || name === 'IEND') return sidesOf(width, height);
    at += 12 + length;
  }
  return {};
}

export function gifSize(head: Buffer): MediaSizes {
  return sidesOf(head.readUInt16LE(6), head.readUInt16LE(8));
}

/** https://learn.microsoft.com/windows/win32/gdi/bitmap-storage: a negative height is of rows from the top. */
export function bmpSize(head: Buffer): MediaSizes {
  const header = head.readUInt32LE(14);
  if (header === 12) return sidesOf(head.readUInt16LE(18), head.readUInt16LE(20));
  if (header < 40 || header > 200) return {};
  return sidesOf(head.readInt32LE(18), Math.abs(head.readInt32LE(22)));
}

/** ITU-T T.81, annex B: segments up to the frame header, one of which may be Exif. */
export function jpegSize(head: Buffer): MediaSizes {
  let isTurned = false;
  let at = 2;
  for (let segment = 0; segment < mostChunks; segment += 1) {
    if (head.readUInt8(at) !== 0xff) return {};
    // any number of fill bytes
    while (head.readUInt8(at + 1) === 0xff) at += 1;
    const marker = head.readUInt8(at + 1);
    const length = head.readUInt16BE(at + 2);
    if (length < 2) return {};
    // SOF0 to SOF15, but for DHT, JPG and DAC
    if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc)
      return sidesOf(head.readUInt16BE(at + 7), head.readUInt16BE(at + 5), isTurned);
    // pixels, or the end
    if (marker === 0xda || marker === 0xd9) return {};
    if (marker === 0xe1 && head.toString('latin1', at + 4, at + 10) === 'Exif\0\0') {
      if (at + 2 + length > head.length) return {};
      isTurned = isTurnedByExif(head.subarray(at + 10, at + 2 + length)) ?? false;
    }
    at += 2 + length;
  }
  return {};
}

/** RFC 9649. Its Exif comes after the pixels, and browsers do not apply it. */
export function webpSize(head: Buffer): MediaSizes {
  const kind = head.toString('latin1', 12, 16);
  if (kind === 'VP8X') return sidesOf(1 + head.readUIntLE(24, 3), 1 + head.readUIntLE(27, 3));
  if (kind === 'VP8L') {
    if (head.readUInt8(20) !== 0x2f) return {};
    const bits = head.readUInt32LE(21);
    return sidesOf(1 + (bits & 0x3fff), 1 + ((bits >>> 14) & 0x3fff));
  }
  if (kind !== 'VP8 ' || head.readUIntBE(23, 3) !== 0x9d012a) return {};
  return sidesOf(head.readUInt16LE(26) & 0x3fff, head.readUInt16LE(28) & 0x3fff);
}

function turned(exif: Buffer, width: number, height: number): MediaSizes {
  return sidesOf(width, height, isTurnedByExif(exif) ?? false);
}
