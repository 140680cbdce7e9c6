import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { percentileOf } from '#load/run/histogram.ts';
import { mebibyte } from '../upload/harness/bytes.ts';
import { prepareLoad } from '../upload/harness/load-process.ts';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { median } from '../upload/harness/median.ts';
import { childPids, cpuSeconds, residentBytes } from '../upload/harness/process-usage.ts';
import { progress } from '../upload/harness/progress.ts';
import type { DownloadsJob, DownloadsResult } from '../upload/load/downloads.ts';
import { type SluiceSubject, startSluice } from '../upload/subject/start-sluice.ts';

/**
 * `node --import tsx bench/pictures/main.ts [PHOTOS] [ROUNDS]`: what pictures by preset cost. How long the thumbnails of
 * PHOTOS photos of 12 megapixels take, how much memory their processes hold meanwhile, and how long other requests take
 * beside them; then the CPU time of a download of a picture that is made already, against a file of the same bytes.
 */
const [photos = 200, rounds = 5] = process.argv.slice(2).map(Number);
const presets = 'thumb=320x320:cover,page=1600x1600';
const browser = 'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8';
const compared = [
  { preset: 'thumb', accept: browser, type: 'image/avif' },
  { preset: 'thumb', accept: '*/*', type: 'image/jpeg' },
  { preset: 'page', accept: '*/*', type: 'image/jpeg' },
];
/** Of a page of a grid in a browser, for some visitors. */
const requestsAtOnce = 12;
const files = 100;
/** Other requests: connections, and milliseconds between two of each. */
const neighbours = { connections: 4, pause: 10 };

/** A photo of 12 megapixels with some noise, as a camera makes it. */
async function photo(seed: number): Promise<Buffer> {
  const [width, height] = [4000, 3000];
  const raw = Buffer.allocUnsafe(width * height * 3);
  let noise = seed + 1;
  for (let at = 0; at < raw.byteLength; at += 3) {
    const x = (at / 3) % width;
    const y = Math.floor(at / 3 / width);
    noise = (noise * 1_103_515_245 + 12_345) % 2_147_483_648;
    raw[at] = (x * 200) / width + (noise % 32);
    raw[at + 1] = (y * 200) / height + ((noise >> 8) % 32);
    raw[at + 2] = 100 + 80 * Math.sin((x + seed * 100) / 90) * Math.cos(y / 70);
  }
  return sharp(raw, { raw: { width, height, channels: 3 } })
    .jpeg({ quality: 90 })
    .toBuffer();
}

/** @returns the path of the file */
async function put({ target }: SluiceSubject, bytes: Buffer, type = 'image/jpeg'): Promise<string> {
  const answer = await fetch(`${target.baseUrl}/_f_/bench/photo.jpg`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${target.token}`, 'content-type': type },
    body: bytes,
  });
  if (!answer.ok) throw new Error(`an upload was answered with ${answer.status}`);
  return new URL(((await answer.json()) as { s3Link: string }).s3Link).pathname;
}

async function take(url: string, accept: string): Promise<Buffer> {
  const answer = await fetch(url, { headers: { accept } });
  const bytes = Buffer.from(await answer.arrayBuffer());
  if (answer.status !== 200) throw new Error(`${url} was answered with ${answer.status}: ${bytes}`);
  return bytes;
}

/** Requests small files until `until` resolves. @returns milliseconds of each */
async function otherRequests(
  { target }: SluiceSubject,
  path: string,
  until: Promise<unknown>,
): Promise<number[]> {
  const times: number[] = [];
  let over = false;
  void until.finally(() => {
    over = true;
  });
  const one = async (): Promise<void> => {
    while (!over) {
      const begun = performance.now();
      await take(target.baseUrl + path, '*/*');
      times.push(performance.now() - begun);
      await sleep(neighbours.pause);
    }
  };
  await Promise.all(Array.from({ length: neighbours.connections }, one));
  return times;
}

/** The processes of pictures. */
function pictureProcesses(pid: number): number[] {
  return childPids(pid).filter((child) => {
    try {
      return readFileSync(`/proc/${child}/cmdline`, 'latin1').includes('picture-program');
    } catch {
      return false;
    }
  });
}

function peaksOf(pid: number): {
  readonly end: () => { readonly pictures: number; readonly gateway: number };
} {
  const peaks = { pictures: 0, gateway: 0 };
  const timer = setInterval(() => {
    try {
      peaks.pictures = Math.max(peaks.pictures, residentBytes(pictureProcesses(pid)));
      peaks.gateway = Math.max(peaks.gateway, residentBytes([pid]));
    } catch {
      // one has just ended
    }
  }, 20);
  return {
    end() {
      clearInterval(timer);
      return peaks;
    },
  };
}

const ms = (value: number): string => `${value.toFixed(2)} ms`;
const mib = (bytes: number): string => `${Math.round(bytes / mebibyte)} MiB`;

async function makeAll(sluice: SluiceSubject, originals: readonly Buffer[]): Promise<string[]> {
  const [pid = 0] = sluice.pids;
  const small = await put(sluice, Buffer.alloc(2048, 7));
  progress(`uploading ${photos} photos of ${mib(originals[0]?.byteLength ?? 0)}`);
  const paths: string[] = [];
  for (let at = 0; at < photos; at++)
    paths.push(await put(sluice, originals[at % originals.length] as Buffer));
  await sleep(2000);
  progress('other requests alone');
  const alone = await otherRequests(sluice, small, sleep(10_000));
  progress('the thumbnails');
  const idle = residentBytes([pid]);
  const peaks = peaksOf(pid);
  const begun = performance.now();
  const left = [...paths];
  const made: number[] = [];
  const getter = async (): Promise<void> => {
    for (let path = left.pop(); path !== undefined; path = left.pop())
      made.push((await take(`${sluice.target.baseUrl}${path}?preset=thumb`, browser)).byteLength);
  };
  const all = Promise.all(Array.from({ length: requestsAtOnce }, getter));
  const beside = await otherRequests(sluice, small, all);
  await all;
  const seconds = (performance.now() - begun) / 1000;
  const { pictures, gateway } = peaks.end();
  const p99 = [alone, beside].map((times) => percentileOf(times, 99));
  const p50 = [alone, beside].map((times) => percentileOf(times, 50));
  const lines = [
    `${made.length} thumbnails (AVIF, ${Math.round(median(made))} bytes): ${seconds.toFixed(1)} s, ${(made.length / seconds).toFixed(1)}/s`,
    `processes of pictures, peak of all together: ${mib(pictures)}; gateway: ${mib(idle)} before, peak ${mib(gateway)}`,
    `other requests: p50 ${ms(p50[0] ?? 0)} alone, ${ms(p50[1] ?? 0)} beside; p99 ${ms(p99[0] ?? 0)} alone, ${ms(p99[1] ?? 0)} beside: ${((p99[1] ?? 0) / (p99[0] ?? 1)).toFixed(2)}x (${alone.length} and ${beside.length} requests)`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  return paths;
}

/** CPU time of a download of a picture that is made already, as a share of that of a file of the same bytes. */
async function compare(
  sluice: SluiceSubject,
  { preset, accept, type }: { readonly preset: string; readonly accept: string; readonly type: string },
  original: Buffer,
): Promise<void> {
  const { baseUrl } = sluice.target;
  const pictures: string[] = [];
  const plain: string[] = [];
  let size = 0;
  for (let at = 0; at < files; at++) {
    const path = `${await put(sluice, original)}?preset=${preset}`;
    const bytes = await take(baseUrl + path, accept);
    size = bytes.byteLength;
    pictures.push(path);
    plain.push(await put(sluice, bytes, type));
  }
  const sides = [
    { name: 'file', paths: plain, cpu: [] as number[], rate: [] as number[] },
    { name: 'picture', paths: pictures, cpu: [] as number[], rate: [] as number[] },
  ];
  for (let round = 0; round <= rounds; round++)
    for (const { name, paths, cpu, rate } of round % 2 === 0 ? sides : [...sides].reverse()) {
      const job: DownloadsJob = {
        baseUrl,
        paths,
        size,
        accept,
        connections: 32,
        milliseconds: round === 0 ? 1000 : 4000,
      };
      const load = await prepareLoad<DownloadsResult>('downloads.ts', job);
      const before = cpuSeconds(sluice.pids);
      load.go();
      const { good, bad, perSecond } = await load.result;
      if (bad > 0) throw new Error(`${bad} connections failed`);
      // round 0 warms up
      if (round === 0) continue;
      cpu.push(((cpuSeconds(sluice.pids) - before) * 1e6) / good);
      rate.push(perSecond);
      progress(
        `${preset} ${type}, round ${round}: ${name} ${cpu.at(-1)?.toFixed(1)} us, ${Math.round(perSecond)}/s`,
      );
    }
  const [file = 0, picture = 0] = sides.map(({ cpu }) => median(cpu));
  const [ofFiles, ofPictures] = sides.map(({ cpu }) => cpu);
  const ratio = median((ofPictures ?? []).map((cpu, at) => cpu / (ofFiles?.[at] ?? 1)));
  const rates = sides.map(({ rate }) => `${Math.round(median(rate))}/s`).join(' and ');
  process.stdout.write(
    `${preset}, ${type}, ${size} bytes: ${file.toFixed(1)} us a download of a file, ${picture.toFixed(1)} us of a picture: ${ratio.toFixed(2)}x, the median of ${rounds} rounds (${rates})\n`,
  );
}

process.stdout.write(`${machineLine(describeMachine())}\n`);
const originals = await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(photo));
const sluice = await startSluice({
  store: 'fs',
  sink: undefined as never,
  env: { IMAGE_PRESETS: presets },
});
try {
  if (photos > 0) await makeAll(sluice, originals);
  if (rounds > 0) for (const one of compared) await compare(sluice, one, originals[0] as Buffer);
} finally {
  await sluice.stop();
}
