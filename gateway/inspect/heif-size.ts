import { boxesIn, findBox, type IsoBox, isWhole } from './iso-boxes.ts';
import { type MediaSizes, sidesOf } from './sizes.ts';

/** Most items, and properties of one, that are read. */
const mostItems = 10_000;

/**
 * The size of the primary picture of a HEIF or AVIF file (ISO/IEC 23008-12, sections 6.5 and 9.3): its extent, cropped by
 * a clean aperture, and turned. Tiles and thumbnails have sizes of their own, which do not count.
 */
export function heifSize(head: Buffer): MediaSizes {
  const meta = findBox(head, 'meta', { start: 0, end: Number.MAX_SAFE_INTEGER });
  if (meta === undefined) return {};
  // a full box: version and flags
  const inside = { start: meta.start + 4, end: meta.end };
  const pitm = findBox(head, 'pitm', inside);
  const iprp = findBox(head, 'iprp', inside);
  if (!isWhole(head, pitm) || !isWhole(head, iprp)) return {};
  const primary =
    head.readUInt8(pitm.start) === 0 ? head.readUInt16BE(pitm.start + 4) : head.readUInt32BE(pitm.start + 4);
  const ipco = findBox(head, 'ipco', iprp);
  if (ipco === undefined) return {};
  const properties = [...boxesIn(head, ipco.start, ipco.end)];
  let sides: MediaSizes = {};
  for (const number of propertiesOf(head, iprp, primary)) {
    const property = properties[number - 1];
    if (property !== undefined) sides = applied(head, property, sides);
  }
  return sides;
}

function applied(head: Buffer, { type, start }: IsoBox, { width = 0, height = 0 }: MediaSizes): MediaSizes {
  if (type === 'ispe') return sidesOf(head.readUInt32BE(start + 4), head.readUInt32BE(start + 8));
  // quarters, against the clock
  if (type === 'irot') return sidesOf(width, height, (head.readUInt8(start) & 1) === 1);
  if (type !== 'clap') return sidesOf(width, height);
  const part = (at: number): number => head.readUInt32BE(start + at) / head.readUInt32BE(start + at + 4);
  return part(0) <= width && part(8) <= height ? sidesOf(part(0), part(8)) : {};
}

/** Numbers of the properties of an item, from 1 and in their order. */
function propertiesOf(head: Buffer, iprp: IsoBox, item: number): number[] {
  const ipma = findBox(head, 'ipma', iprp);
  if (ipma === undefined) return [];
  const hasLongIds = head.readUInt8(ipma.start) > 0;
  const hasLongNumbers = (head.readUInt8(ipma.start + 3) & 1) === 1;
  const items = Math.min(head.readUInt32BE(ipma.start + 4), mostItems);
  let at = ipma.start + 8;
  for (let read = 0; read < items; read += 1) {
    const id = hasLongIds ? head.readUInt32BE(at) : head.readUInt16BE(at);
    at += hasLongIds ? 4 : 2;
    const count = head.readUInt8(at);
    at += 1;
    // the first bit says that a reader must understand it
    const numbers = Array.from({ length: count }, (_, index) =>
      hasLongNumbers ? head.readUInt16BE(at + 2 * index) & 0x7fff : head.readUInt8(at + index) & 0x7f,
    );
    if (id === item) return numbers;
    at += hasLongNumbers ? 2 * count : count;
  }
  return [];
}
