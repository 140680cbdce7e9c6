import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { findVideoPrograms } from '#gateway/images/video-frame.ts';
import { picturesOf } from '../services/pictures-of.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const programs = await findVideoPrograms();
if (programs === null) console.log('NOT TESTED: posters of videos, without ffmpeg');
const skip = programs === null && 'ffmpeg is not here';

/** A video that is red for two seconds, then green for two, then blue for two. */
async function video(t: Test, name: string, args: readonly string[]): Promise<Buffer> {
  const path = join(await temporaryFolder(t), name);
  const colours = ['red', 'lime', 'blue'].flatMap((colour) => [
    ...['-f', 'lavfi', '-i', `color=c=${colour}:s=320x180:d=2:r=10`],
  ]);
  const filter = ['-filter_complex', '[0][1][2]concat=n=3:v=1:a=0[v]', '-map', '[v]'];
  await promisify(execFile)('ffmpeg', ['-v', 'error', ...colours, ...filter, '-g', '5', ...args, path]);
  return readFile(path);
}

async function colourOf(bytes: Buffer): Promise<'red' | 'green' | 'blue'> {
  const [red = 0, green = 0, blue = 0] = await sharp(bytes).removeAlpha().resize(1, 1).raw().toBuffer();
  if (red > green && red > blue) return 'red';
  return green > blue ? 'green' : 'blue';
}

t.test('the poster of a video is its frame at a third', { skip }, async (t) => {
  const { put, get } = await picturesOf(t);
  for (const [name, type, args] of [
    ['a.mp4', 'video/mp4', ['-c:v', 'libx264', '-pix_fmt', 'yuv420p']],
    ['fast.mp4', 'video/mp4', ['-c:v', 'libx264', '-pix_fmt', 'yuv420p', '-movflags', '+faststart']],
    ['a.webm', 'video/webm', ['-c:v', 'libvpx', '-b:v', '200k']],
    ['a.mkv', 'video/x-matroska', ['-c:v', 'libx264']],
  ] as const) {
    const answer = await get(await put(name, await video(t, name, args), type), 'page', {
      accept: 'image/webp',
    });
    t.equal(answer.status, 200, name);
    const bytes = Buffer.from(await answer.arrayBuffer());
    t.match(await sharp(bytes).metadata(), { format: 'webp', width: 200, height: 113 });
    t.not(await colourOf(bytes), 'blue', name);
    t.equal(answer.headers.get('content-type'), 'image/webp');
  }
});

t.test('of a large video only its ends and what is around the frame are read', { skip }, async (t) => {
  const { put, picture, store } = await picturesOf(t, { maxUploadBytes: 200_000_000 });
  // noise can't be compressed
  const path = join(await temporaryFolder(t), 'noise.mp4');
  const noise = ['-f', 'lavfi', '-i', 'nullsrc=s=640x360:d=12:r=25,geq=random(1)*255:128:128'];
  const quality = ['-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '8', '-g', '25', '-pix_fmt', 'yuv420p'];
  await promisify(execFile)('ffmpeg', ['-v', 'error', ...noise, ...quality, path]);
  const bytes = await readFile(path);
  t.ok(bytes.byteLength > 40_000_000, `${bytes.byteLength} bytes`);
  const name = await put('noise.mp4', bytes, 'video/mp4');
  let read = 0;
  const real = store.read;
  store.read = async function* (...args) {
    for await (const chunk of real.apply(store, args)) {
      read += args[0].includes('_variants') ? 0 : chunk.byteLength;
      yield chunk;
    }
  };
  const made = await picture(name, 'page', 'image/webp');
  t.match(await sharp(made).metadata(), { width: 200, height: 113 });
  t.ok(read <= 25 * 1024 * 1024, `${read} bytes were read`);
  const { channels } = await sharp(made).stats();
  t.ok((channels[0]?.stdev ?? 0) > 10, 'the frame is there, and not grey');
});

t.test('what is no video, follows others, or has no frame', { skip }, async (t) => {
  const { put, get } = await picturesOf(t);
  const playlist = '#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n';
  const whole = await video(t, 'a.mp4', ['-c:v', 'libx264', '-pix_fmt', 'yuv420p']);
  for (const [what, bytes] of Object.entries({
    playlist: Buffer.from(playlist),
    list: Buffer.from("ffconcat version 1.0\nfile '/etc/passwd'\n"),
    truncated: whole.subarray(0, whole.byteLength / 3),
    text: Buffer.from('a text'),
    empty: Buffer.alloc(0),
  })) {
    const answer = await get(await put('a.mp4', bytes, 'video/mp4'), 'thumb');
    t.equal(answer.status, 422, what);
    t.match(await answer.json(), { code: 'invalid_image' });
  }
});

t.test('without ffmpeg a poster is not implemented, and pictures are', async (t) => {
  const path = process.env.PATH;
  t.teardown(() => {
    process.env.PATH = path;
  });
  process.env.PATH = '/nowhere';
  const { put, get } = await picturesOf(t);
  const answer = await get(await put('a.mp4', Buffer.from('a video'), 'video/mp4'), 'thumb');
  t.equal(answer.status, 501);
  t.match(await answer.json(), { code: 'not_implemented', message: /ffmpeg/ });
  const png = await sharp({ create: { width: 9, height: 9, channels: 3, background: '#777' } })
    .png()
    .toBuffer();
  t.equal((await get(await put('a.png', png, 'image/png'), 'thumb')).status, 200);
});
