/** A box of the ISO base media file format (ISO/IEC 14496-12, section 4.2), whose contents may be cut off. */
export interface IsoBox {
  readonly type: string;
  /** Where its contents begin and end. The end may lie behind the bytes that are known. */
  readonly start: number;
  readonly end: number;
}

/** Most boxes of a container that are passed over: each costs a few nanoseconds, and a hostile file has millions. */
const mostBoxes = 10_000;

/** The boxes between two places, up to the first whose length can't be right, or that begins behind the known bytes. */
export function* boxesIn(head: Buffer, start: number, end: number): Generator<IsoBox, void, undefined> {
  let at = start;
  for (let box = 0; box < mostBoxes && at + 8 <= Math.min(end, head.length); box += 1) {
    const length = head.readUInt32BE(at);
    const type = head.toString('latin1', at + 4, at + 8);
    let header = 8;
    let size = length;
    if (length === 1) {
      if (at + 16 > head.length) return;
      header = 16;
      size = Number(head.readBigUInt64BE(at + 8));
    }
    // up to the end of the container
    if (length === 0) size = end - at;
    if (size < header || at + size > end) return;
    yield { type, start: at + header, end: at + size };
    at += size;
  }
}

/** The first box of a type; undefined: it is not among the known bytes. */
export function findBox(
  head: Buffer,
  type: string,
  { start, end }: Pick<IsoBox, 'start' | 'end'>,
): IsoBox | undefined {
  for (const box of boxesIn(head, start, end)) if (box.type === type) return box;
  return undefined;
}

/** Whether all of a box is known. */
export function isWhole(head: Buffer, box: IsoBox | undefined): box is IsoBox {
  return box !== undefined && box.end <= head.length;
}
