import { crc32, deflateSync, inflateSync } from 'node:zlib';

const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/**
 * The same picture without filters, if that is smaller: pages are flat, and filters hide what repeats.
 * @param png of 8 bits a channel, without transparency, not interlaced (https://www.w3.org/TR/png-3/)
 */
export function smallPng(png: Buffer): Buffer {
  const { header, data } = readChunks(png);
  if (header.readUInt16BE(8) !== 0x0802) return png;
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const rgb = unfilter(inflateSync(data), { width, height });
  const line = width * 3;
  const rows = Buffer.alloc((line + 1) * height);
  for (let y = 0; y < height; y++) rgb.copy(rows, y * (line + 1) + 1, y * line, (y + 1) * line);
  const small = pngOf(header, rows);
  return small.length < png.length ? small : png;
}

function readChunks(png: Buffer): { readonly header: Buffer; readonly data: Buffer } {
  const parts: Buffer[] = [];
  for (let at = signature.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  return { header: png.subarray(16, 29), data: Buffer.concat(parts) };
}

/** https://www.w3.org/TR/png-3/#9Filters */
function unfilter(filtered: Buffer, { width, height }: { width: number; height: number }): Buffer {
  const line = width * 3;
  const rgb = Buffer.alloc(line * height);
  for (let y = 0; y < height; y++) {
    const filter = filtered[y * (line + 1)];
    for (let x = 0; x < line; x++) {
      const here = y * line + x;
      const left = x < 3 ? 0 : (rgb[here - 3] as number);
      const up = y === 0 ? 0 : (rgb[here - line] as number);
      const corner = x < 3 || y === 0 ? 0 : (rgb[here - line - 3] as number);
      const raw = filtered[y * (line + 1) + 1 + x] as number;
      rgb[here] = raw + predicted(filter, left, up, corner);
    }
  }
  return rgb;
}

function predicted(filter: number | undefined, left: number, up: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  if (filter !== 4) return 0;
  const [byLeft, byUp, byCorner] = [up - corner, left - corner, left + up - 2 * corner].map(Math.abs) as [
    number,
    number,
    number,
  ];
  if (byLeft <= byUp && byLeft <= byCorner) return left;
  return byUp <= byCorner ? up : corner;
}

/** @param header the data of IHDR @param rows each with its filter */
export function pngOf(header: Buffer, rows: Buffer): Buffer {
  const data = deflateSync(rows, { level: 9 });
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}
