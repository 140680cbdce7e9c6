import { fileTypeFromBuffer } from 'file-type';
import { isText } from './is-text.ts';
import { registeredType } from './registered-type.ts';

/** The library needs no more (https://github.com/sindresorhus/file-type#filetypefrombufferbuffer). Bytes. */
const enough = 4100;
const textSample = 512;

/** Beginnings of media and documents that are shown. */
const beginnings: ReadonlySet<string> = new Set([
  ...['\x89PNG', 'GIF8', 'RIFF', 'OggS', 'fLaC', '%PDF', '#EXT', 'WEBV'],
  // EBML, and MPEG program and video streams
  ...['\x1aE\xdf\xa3', '\0\0\x01\xba', '\0\0\x01\xb3'],
]);
/** First boxes of MP4, QuickTime, HEIF and JPEG XL. */
const boxes: ReadonlySet<string> = new Set([
  'ftyp',
  'moov',
  'mdat',
  'wide',
  'free',
  'skip',
  'styp',
  'sidx',
  'moof',
  'JXL ',
]);
const segments: ReadonlySet<string> = new Set(['styp', 'sidx', 'moof']);
const utf8Mark = '\xef\xbb\xbf';
/** Packets of an MPEG-2 transport stream have 188 bytes, and all begin alike. */
const isTransportStream = (head: Buffer): boolean => head[0] === 0x47 && head[188] === 0x47;

/**
 * The media type that the first bytes of a file tell, registered and without parameters; null: they tell none. A promise
 * only where the library is asked.
 * @param isAny asks for types that are not shown as well
 */
export function mediaTypeOfBytes(head: Buffer, isAny: boolean): string | null | Promise<string | null> {
  const marked = head.toString('latin1', 0, 12);
  const start = marked.startsWith(utf8Mark) ? marked.slice(3) : marked;
  // most files begin with nothing of the kind, and asking the library costs 7 to 18 µs
  if (!isAny && !mayBeShown(start) && !isTransportStream(head)) return null;
  // UTF-16, which the library takes for MPEG; and two letters that it takes for a bitmap
  if (start.startsWith('\xff\xfe')) return null;
  if (start.startsWith('BM') && isText(head.subarray(0, textSample))) return null;
  // what the library does not know: RFC 8216, section 4.3.1.1, and segments (ISO/IEC 23009-1, section 6.3.4)
  if (/^#EXTM3U\s/.test(start)) return 'application/vnd.apple.mpegurl';
  if (segments.has(start.slice(4, 8))) return 'video/iso.segment';
  return typeByLibrary(head);
}

async function typeByLibrary(head: Buffer): Promise<string | null> {
  try {
    const found = await fileTypeFromBuffer(head.subarray(0, enough));
    return found === undefined ? null : registeredType((found.mime.split(';')[0] as string).trim());
  } catch {
    // hostile bytes: they tell nothing
    return null;
  }
}

function mayBeShown(start: string): boolean {
  if (beginnings.has(start.slice(0, 4)) || boxes.has(start.slice(4, 8))) return true;
  // ID3 tags and bitmaps; JPEG, JPEG XL and frames of MPEG
  if (start.startsWith('ID3') || start.startsWith('BM')) return true;
  return start.charCodeAt(0) === 0xff && (start.charCodeAt(1) >= 0xe2 || /^[\xd8\n]/.test(start.slice(1)));
}
