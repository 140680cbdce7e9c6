import { boxesIn, findBox, type IsoBox } from './iso-boxes.ts';
import { durationOf, type MediaSizes, sidesOf } from './sizes.ts';

const unknown32 = 0xffffffff;
const unknown64 = 0xffffffffffffffffn;

/**
 * Sides and duration of a film or sound in MP4, QuickTime or 3GP (ISO/IEC 14496-12, sections 8.2.2, 8.3.2 and 8.8.2), if
 * `moov` is among the known bytes: many recorders write it at the end.
 */
export function mp4Size(head: Buffer): MediaSizes {
  const moov = findBox(head, 'moov', { start: 0, end: Number.MAX_SAFE_INTEGER });
  if (moov === undefined) return {};
  let sides: MediaSizes = {};
  let duration: MediaSizes = {};
  let timescale = 0;
  for (const box of boxesIn(head, moov.start, moov.end)) {
    // what is cut off is not known
    if (box.end > head.length) break;
    if (box.type === 'mvhd') ({ timescale, ...duration } = movieHeader(head, box));
    if (box.type === 'mvex' && duration.duration === undefined) duration = fragments(head, box, timescale);
    if (box.type === 'trak' && sides.width === undefined) sides = trackSides(head, box);
  }
  return { ...sides, ...duration };
}

function movieHeader(head: Buffer, { start }: IsoBox): MediaSizes & { readonly timescale: number } {
  const isLong = head.readUInt8(start) === 1;
  const timescale = head.readUInt32BE(start + (isLong ? 20 : 12));
  return { timescale, ...lengthAt(head, start + (isLong ? 24 : 16), isLong, timescale) };
}

function fragments(head: Buffer, mvex: IsoBox, timescale: number): MediaSizes {
  const mehd = findBox(head, 'mehd', mvex);
  if (mehd === undefined) return {};
  return lengthAt(head, mehd.start + 4, head.readUInt8(mehd.start) === 1, timescale);
}

function lengthAt(head: Buffer, at: number, isLong: boolean, timescale: number): MediaSizes {
  const units = isLong ? head.readBigUInt64BE(at) : head.readUInt32BE(at);
  if (units === unknown32 || units === unknown64 || timescale === 0) return {};
  return durationOf(Number(units) / timescale);
}

/** The size of a video track as it is shown: its header has it after its pixels' aspect, and before its matrix. */
function trackSides(head: Buffer, trak: IsoBox): MediaSizes {
  const tkhd = findBox(head, 'tkhd', trak);
  const mdia = findBox(head, 'mdia', trak);
  const hdlr = mdia && findBox(head, 'hdlr', mdia);
  if (tkhd === undefined || hdlr === undefined) return {};
  if (head.toString('latin1', hdlr.start + 8, hdlr.start + 12) !== 'vide') return {};
  const matrix = tkhd.start + (head.readUInt8(tkhd.start) === 1 ? 52 : 40);
  const [a, b, c, d] = [0, 4, 12, 16].map((at) => head.readInt32BE(matrix + at)) as [
    number,
    number,
    number,
    number,
  ];
  const isTurned = a === 0 && d === 0 && b !== 0 && c !== 0;
  // neither upright nor turned by quarters
  if (!isTurned && (b !== 0 || c !== 0)) return {};
  const side = (at: number): number => Math.round(head.readUInt32BE(matrix + 36 + at) / 65536);
  return sidesOf(side(0), side(4), isTurned);
}
