/** hls.js in Chromium plays a stream from a signed folder, while files are private. Needs `ffmpeg`. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import t, { type Test } from 'tap';
import { launchChromium } from '../services/launch-chromium.ts';
import { sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

/** Twelve seconds in segments of two, in two sizes, each in a folder of its own. */
async function makeStream(t: Test): Promise<string> {
  const root = await temporaryFolder(t);
  for (const name of ['180p', '360p']) await mkdir(join(root, name));
  const args = [
    ...['-f', 'lavfi', '-i', 'testsrc2=size=640x360:rate=25:duration=12'],
    ...['-f', 'lavfi', '-i', 'sine=frequency=440:duration=12'],
    ...['-filter_complex', '[0:v]split=2[a][b];[a]scale=320:180[low];[b]copy[high]'],
    ...['-map', '[low]', '-map', '1:a', '-map', '[high]', '-map', '1:a'],
    ...['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', '50', '-c:a', 'aac'],
    ...['-f', 'hls', '-hls_time', '2', '-hls_playlist_type', 'vod', '-master_pl_name', 'index.m3u8'],
    ...['-var_stream_map', 'v:0,a:0,name:180p v:1,a:1,name:360p'],
    ...['-hls_segment_filename', join(root, '%v/seg%03d.ts'), join(root, '%v/index.m3u8')],
  ];
  await promisify(execFile)('ffmpeg', ['-v', 'error', ...args]);
  return root;
}

async function servePage(t: Test): Promise<string> {
  const { outputFiles } = await build({
    stdin: {
      contents: `
        import Hls from 'hls.js';
        window.play = async (address) => {
          const video = document.querySelector('video');
          window.video = video;
          const hls = new Hls({ enableWorker: false });
          window.failures = [];
          hls.on(Hls.Events.ERROR, (_, { details, fatal }) => window.failures.push(details + (fatal ? '!' : '')));
          hls.loadSource(address);
          hls.attachMedia(video);
          await new Promise((resolve) => hls.once(Hls.Events.MANIFEST_PARSED, resolve));
          await video.play();
          window.hls = hls;
        };`,
      resolveDir: import.meta.dirname,
    },
    bundle: true,
    format: 'iife',
    write: false,
    logLevel: 'silent',
  });
  const html = `<!doctype html><video muted width="640" height="360" controls></video>
    <script>${outputFiles[0]?.text}</script>`;
  const pages = createServer((_, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(html);
  });
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  t.teardown(() => pages.close());
  return `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
}

interface Player {
  video: {
    currentTime: number;
    readonly seeking: boolean;
    readonly readyState: number;
    readonly videoWidth: number;
    play(): Promise<void>;
    getVideoPlaybackQuality(): { readonly totalVideoFrames: number };
  };
  play(address: string): Promise<void>;
  failures: string[];
  hls: { levels: unknown[]; currentLevel: number };
}
declare const window: Player;

t.test('a stream plays from a signed folder, and seeks', { timeout: 120_000 }, async (t) => {
  const root = await makeStream(t);
  const sluice = await sluiceFor(t, { env: { FILE_LINKS: 'private', CORS_ORIGINS: '*' } });
  const files = `${sluice.baseUrl}/_f_/media`;
  const headers = { authorization: `Bearer ${sluice.token}` };
  let folder = 'new';
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((one) => one.isFile())) {
    const file = join(entry.parentPath, entry.name);
    const body = await readFile(file);
    const answer = await fetch(`${files}/${folder}/${relative(root, file)}`, {
      method: 'PUT',
      body,
      headers,
    });
    t.equal(answer.status, 200);
    ({ folder } = (await answer.json()) as { folder: string });
  }
  const signed = await fetch(`${files}/${folder}/link`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ expiresIn: 600 }),
  });
  const { link } = (await signed.json()) as { link: string };
  t.equal((await fetch(`${files}/${folder}/index.m3u8`)).status, 401);

  const browser = await launchChromium({ args: ['--autoplay-policy=no-user-gesture-required'] });
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  const asked = new Map<string, number>();
  page.on('response', (response) => {
    const { origin, pathname } = new URL(response.url());
    if (origin === sluice.baseUrl) asked.set(pathname.split('/').slice(5).join('/'), response.status());
  });
  await page.goto(await servePage(t));
  await page.evaluate((address) => window.play(address), `${link}index.m3u8`);
  const at = (seconds: number) =>
    page.waitForFunction((wanted) => {
      const { video } = window;
      return video.currentTime > wanted && !video.seeking && video.readyState >= 2;
    }, seconds);
  await at(0.5);
  await page.evaluate(() => {
    window.video.currentTime = 9;
  });
  await at(9.4);
  // back to the beginning, in the other size
  const playSmall = () =>
    page.evaluate(() => {
      window.hls.currentLevel = 0;
      window.video.currentTime = 2;
      return window.video.play();
    });
  const isSmall = () =>
    page
      .waitForFunction(() => window.video.videoWidth === 320, null, { timeout: 8000 })
      .then(
        () => true,
        () => false,
      );
  await playSmall();
  await at(2.3);
  // a player that came to its end meanwhile has nothing left to load, and forgets the size
  for (let attempt = 1; !(await isSmall()); attempt++) {
    if (attempt === 5) throw new Error('the player stays with the larger size');
    await playSmall();
  }
  if (process.env.SCREENSHOT !== undefined) await page.screenshot({ path: process.env.SCREENSHOT });
  const { failures, levels, frames } = await page.evaluate(() => ({
    failures: window.failures.filter((text) => text.endsWith('!')),
    levels: window.hls.levels.length,
    frames: window.video.getVideoPlaybackQuality().totalVideoFrames,
  }));
  t.strictSame({ failures, levels }, { failures: [], levels: 2 });
  t.ok(frames > 20, `${frames} frames`);
  t.strictSame([...new Set(asked.values())], [200]);
  t.ok(asked.has('180p/seg001.ts') && asked.has('360p/index.m3u8'), [...asked.keys()].join(' '));
});
