import { heifSize } from './heif-size.ts';
import { jxlSize } from './jxl-size.ts';
import { matroskaSize } from './matroska-size.ts';
import { mp4Size } from './mp4-size.ts';
import { bmpSize, gifSize, jpegSize, pngSize, webpSize } from './picture-size.ts';
import type { MediaSizes } from './sizes.ts';
import { flacLength, mp3Length, oggLength, wavLength } from './sound-length.ts';

type SizeReader = (head: Buffer, isWhole: boolean) => MediaSizes;

/** Brands of files that are pictures (https://github.com/mp4ra/mp4ra.github.io). */
const pictureBrands = new Set([
  'heic',
  'heix',
  'heim',
  'heis',
  'hevc',
  'hevx',
  'mif1',
  'msf1',
  'avif',
  'avis',
]);

/** The reader of a format by its first bytes; null: the bytes are no known media. */
export function sizeReader(head: Buffer): SizeReader | null {
  if (head.length < 12) return null;
  const [first, second] = head as unknown as [number, number];
  if (first === 0xff) {
    if (second === 0xd8) return jpegSize;
    if (second === 0x0a) return jxlSize;
    return (second & 0xe6) === 0xe2 ? mp3Length : null;
  }
  if (head.readUInt32BE(4) === 0x66747970 /* ftyp */)
    return pictureBrands.has(head.toString('latin1', 8, 12)) ? heifSize : mp4Size;
  switch (head.readUInt32BE(0)) {
    case 0x89504e47:
      return pngSize;
    case 0x47494638:
      return gifSize;
    case 0x1a45dfa3:
      return matroskaSize;
    case 0x664c6143:
      return flacLength;
    case 0x4f676753:
      return oggLength;
    case 0x52494646:
      return riffReader(head.toString('latin1', 8, 12));
    case 0x0000000c:
      return head.readUInt32BE(4) === 0x4a584c20 ? jxlSize : null;
    default:
  }
  if (first === 0x42 && second === 0x4d) return bmpSize;
  return head.toString('latin1', 0, 3) === 'ID3' ? mp3Length : olderFilm(head);
}

function riffReader(form: string): SizeReader | null {
  if (form === 'WEBP') return webpSize;
  return form === 'WAVE' ? wavLength : null;
}

/** QuickTime before it had brands. */
function olderFilm(head: Buffer): SizeReader | null {
  return /^(?:moov|mdat|wide|free|skip)$/.test(head.toString('latin1', 4, 8)) ? mp4Size : null;
}

/** Readers of formats that have no sides, and of those that have no duration. */
const sounds: ReadonlySet<SizeReader> = new Set([flacLength, mp3Length, oggLength, wavLength]);
const films: ReadonlySet<SizeReader> = new Set([matroskaSize, mp4Size]);

/** Whether more bytes can tell no more. */
export function isComplete({ width, duration }: MediaSizes, reader: SizeReader): boolean {
  if (sounds.has(reader)) return duration !== undefined;
  return width !== undefined && (duration !== undefined || !films.has(reader));
}

/** Sides and duration, as far as the bytes tell. Never throws. @param isWhole these are all bytes of the file */
export function readSizes(reader: SizeReader, head: Buffer, isWhole: boolean): MediaSizes {
  try {
    return reader(head, isWhole);
  } catch {
    // the bytes end before the size, or lead behind their end
    return {};
  }
}
