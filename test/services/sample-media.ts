import { pngOf } from './small-png.ts';

/** A PNG of one soft gradient, so that lists of files have something to show. @param hue 0 to 360 */
export function samplePng(hue: number, width = 320, height = 240): Buffer {
  const line = 1 + width * 3;
  const rows = Buffer.alloc(line * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1)
      rows.set(colourAt(hue + (60 * x) / width, 0.35 + (0.4 * y) / height), y * line + 1 + x * 3);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits a channel, RGB
  header.set([8, 2, 0, 0, 0], 8);
  return pngOf(header, rows);
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
