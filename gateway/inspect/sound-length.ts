import { durationOf, type MediaSizes } from './sizes.ts';

/** Most chunks of a WAV file that are passed over. */
const mostChunks = 1000;

/** RIFF of Microsoft. @param isWhole these are all bytes of the file */
export function wavLength(head: Buffer, isWhole: boolean): MediaSizes {
  let bytesASecond = 0;
  let at = 12;
  for (let chunk = 0; chunk < mostChunks; chunk += 1) {
    const name = head.toString('latin1', at, at + 4);
    const size = head.readUInt32LE(at + 4);
    if (name === 'fmt ') bytesASecond = head.readUInt32LE(at + 16);
    if (name === 'data') {
      // 0 and the largest number are of recorders that did not know
      const isCut = size === 0 || size >= 0xffffffff - 8192 || (isWhole && at + 8 + size > head.length);
      return isCut || bytesASecond === 0 ? {} : durationOf(size / bytesASecond);
    }
    at += 8 + size + (size & 1);
  }
  return {};
}

/** RFC 9639, section 8.2: STREAMINFO is the first block. */
export function flacLength(head: Buffer): MediaSizes {
  if ((head.readUInt8(4) & 0x7f) !== 0) return {};
  const rate = head.readUIntBE(18, 3) >> 4;
  const samples = (head.readUInt8(21) & 0xf) * 2 ** 32 + head.readUInt32BE(22);
  return rate === 0 ? {} : durationOf(samples / rate);
}

/** RFC 3533: the last page says how long a stream is. @param isWhole these are all bytes of the file */
export function oggLength(head: Buffer, isWhole: boolean): MediaSizes {
  const last = head.lastIndexOf('OggS');
  // another stream may be longer
  if (!isWhole || last <= 0 || head.readUInt32LE(14) !== head.readUInt32LE(last + 14)) return {};
  const granule = head.readBigInt64LE(last + 6);
  const packet = 27 + head.readUInt8(26);
  const isEnd = (head.readUInt8(last + 5) & 4) === 4;
  if (!isEnd || granule <= 0n) return {};
  // RFC 7845, section 5.1
  if (head.toString('latin1', packet, packet + 8) === 'OpusHead')
    return durationOf((Number(granule) - head.readUInt16LE(packet + 10)) / 48_000);
  if (head.toString('latin1', packet, packet + 7) !== '\x01vorbis') return {};
  const rate = head.readUInt32LE(packet + 12);
  return rate === 0 ? {} : durationOf(Number(granule) / rate);
}

/** Samples a second of MPEG 1. */
const rates = [44_100, 48_000, 32_000];

/** MP3 with the number of its frames in the first one (of Xing, LAME or Fraunhofer): others tell no length. */
export function mp3Length(head: Buffer): MediaSizes {
  const start = afterId3(head);
  const header = head.readUInt32BE(start);
  // eleven ones, and layer III
  if (header >>> 21 !== 0x7ff || ((header >>> 17) & 3) !== 1) return {};
  const version = (header >>> 19) & 3;
  const rate = rates[(header >>> 10) & 3];
  if (version === 1 || rate === undefined) return {};
  const isFirst = version === 3;
  const isMono = ((header >>> 6) & 3) === 3;
  const side = isFirst ? (isMono ? 17 : 32) : isMono ? 9 : 17;
  const samplesAFrame = isFirst ? 1152 : 576;
  const samples = samplesAt(head, start + 4, { side, samplesAFrame });
  // MPEG 2 has half of the rate, and MPEG 2.5 a quarter
  const factor = isFirst ? 1 : version === 2 ? 2 : 4;
  return samples === null ? {} : durationOf((samples * factor) / rate);
}

/** Samples by the number of frames, but for those that the encoder added at both ends. */
function samplesAt(
  head: Buffer,
  start: number,
  { side, samplesAFrame }: { readonly side: number; readonly samplesAFrame: number },
): number | null {
  const at = start + side;
  const name = head.toString('latin1', at, at + 4);
  if (head.toString('latin1', start + 32, start + 36) === 'VBRI')
    return head.readUInt32BE(start + 32 + 14) * samplesAFrame;
  if (name !== 'Xing' && name !== 'Info') return null;
  const flags = head.readUInt32BE(at + 4);
  // frames, bytes, a table and the quality, each if there is one
  if ((flags & 1) === 0) return null;
  const encoder =
    at + 12 + ((flags & 2) === 0 ? 0 : 4) + ((flags & 4) === 0 ? 0 : 100) + ((flags & 8) === 0 ? 0 : 4);
  const isKnown = /^La(?:ME|vc|vf)/i.test(head.toString('latin1', encoder, encoder + 4));
  // http://gabriel.mp3-tech.org/mp3infotag.html: two numbers of twelve bits
  // throws where the head is cut off before them
  const ends = head.readUIntBE(encoder + 21, 3) * Number(isKnown);
  return head.readUInt32BE(at + 8) * samplesAFrame - (ends >> 12) - (ends & 0xfff);
}

/** https://id3.org/id3v2.4.0-structure, section 3.1: a length of four times seven bits. */
function afterId3(head: Buffer): number {
  if (head.toString('latin1', 0, 3) !== 'ID3') return 0;
  const [a, b, c, d] = [6, 7, 8, 9].map((at) => head.readUInt8(at) & 0x7f) as [
    number,
    number,
    number,
    number,
  ];
  const hasFooter = (head.readUInt8(5) & 0x10) !== 0;
  return 10 + a * 2 ** 21 + b * 2 ** 14 + c * 2 ** 7 + d + (hasFooter ? 10 : 0);
}
