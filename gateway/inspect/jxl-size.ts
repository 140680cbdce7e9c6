import { boxesIn, findBox } from './iso-boxes.ts';
import { type MediaSizes, sidesOf } from './sizes.ts';

/** Width by height (ISO/IEC 18181-1, section D.2), by number. */
const ratios: readonly (readonly [number, number])[] = [
  [1, 1],
  [12, 10],
  [4, 3],
  [3, 2],
  [16, 9],
  [5, 4],
  [2, 1],
];

/** The size of a JPEG XL picture: a bare codestream, or one in boxes. Its own header says how it is turned. */
export function jxlSize(head: Buffer): MediaSizes {
  const stream = head.readUInt16BE(0) === 0xff0a ? head : streamIn(head);
  if (stream === undefined || stream.readUInt16BE(0) !== 0xff0a) return {};
  const bits = new Bits(stream, 16);
  const isSmall = bits.take(1) === 1;
  const side = (): number =>
    isSmall ? 8 * (1 + bits.take(5)) : 1 + bits.take([9, 13, 18, 30][bits.take(2)] as number);
  const height = side();
  const ratio = ratios[bits.take(3) - 1];
  const width = ratio === undefined ? side() : Math.floor((height * ratio[0]) / ratio[1]);
  // all_default, then extra_fields, then the orientation of Exif less one
  const orientation = bits.take(1) === 1 || bits.take(1) === 0 ? 1 : 1 + bits.take(3);
  return sidesOf(width, height, orientation >= 5);
}

function streamIn(head: Buffer): Buffer | undefined {
  const all = { start: 0, end: Number.MAX_SAFE_INTEGER };
  const whole = findBox(head, 'jxlc', all);
  if (whole !== undefined) return head.subarray(whole.start, whole.end);
  for (const { type, start, end } of boxesIn(head, all.start, all.end)) {
    // its number, of which the first is 0
    if (type === 'jxlp')
      return (head.readUInt32BE(start) & 0x7fffffff) === 0 ? head.subarray(start + 4, end) : undefined;
  }
  return undefined;
}

/** Bits from the lowest of each byte on. */
class Bits {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  take(count: number): number {
    let value = 0;
    for (let bit = 0; bit < count; bit += 1, this.#at += 1)
      value += ((this.#bytes.readUInt8(this.#at >> 3) >> (this.#at & 7)) & 1) * 2 ** bit;
    return value;
  }
}
