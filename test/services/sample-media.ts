import { crc32, deflateSync } from 'node:zlib';

/** A PNG of one soft gradient, so that lists of files have something to show. @param hue 0 to 360 */
export function samplePng(hue: number, width = 320, height = 240): Buffer {
  const rows: Buffer[] = [];
  for (let y = 0; y < height; y += 1) {
    const row = Buffer.alloc(1 + width * 3);
    for (let x = 0; x < width; x += 1) {
      const [red, green, blue] = colourAt(hue + (60 * x) / width, 0.35 + (0.4 * y) / height);
      row.set([red, green, blue], 1 + x * 3);
    }
    rows.push(row);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits a channel, RGB
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** A second of a quiet tone, 8 kHz, 8 bits. */
export function sampleWav(): Buffer {
  const samples = Buffer.from(
    Array.from({ length: 8000 }, (_, at) => 128 + Math.round(20 * Math.sin(at / 3))),
  );
  const header = Buffer.alloc(44);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(36 + samples.byteLength, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  // PCM, one channel
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8000, 24);
  header.writeUInt32LE(8000, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(samples.byteLength, 40);
  return Buffer.concat([header, samples]);
}

function colourAt(hue: number, light: number): [number, number, number] {
  const channel = (shift: number): number => {
    const k = (shift + hue / 30) % 12;
    return Math.round(
      255 * (light - 0.45 * Math.min(light, 1 - light) * Math.max(-1, Math.min(k - 3, 9 - k, 1))),
    );
  };
  return [channel(0), channel(8), channel(4)];
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.byteLength, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}
