import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { mebibyte } from '../harness/bytes.ts';
import { watchMemory } from '../harness/memory-watch.ts';
import { residentBytes } from '../harness/process-usage.ts';
import { settle } from '../harness/settle.ts';
import { fileCrc32, fileSlices } from '../load/file-bytes.ts';
import { startSluice } from '../subject/start-sluice.ts';
import type { Subject } from '../subject/subject.ts';
import type { Measure } from './measure.ts';
import { withSubjects } from './with-subjects.ts';

const size = 4 * mebibyte;
const budget = 256 * mebibyte;
/** Clients that come back. */
const returning = 50;
const tus = { 'tus-resumable': '1.0.0' };

/**
 * 500 tus uploads stall at random offsets, their connections open: by how much does memory grow beyond the budget of
 * uploads? Then some clients come back by another connection, at once: how long do they wait until they know where to go
 * on, and do their files arrive whole?
 */
export const u12: Measure = {
  id: 'U12',
  run: (bench) =>
    withSubjects([() => startSluice({ ...bench, store: 'fs' })], async ([subject]) => {
      const sluice = subject as Subject;
      const uploads = bench.quick ? 100 : 500;
      await settle();
      const idle = residentBytes(sluice.pids);
      const memory = watchMemory(sluice.pids);
      const stalled = await Promise.all(
        Array.from({ length: uploads }, (_, seed) => stall(sluice.target, seed)),
      );
      // as long as the server gives a stalled one
      await sleep(bench.quick ? 1000 : 8000);
      const beyond = (memory.end().peak - idle - budget) / mebibyte;
      const waits: number[] = [];
      const problems: string[] = [];
      for (const [seed, { path }] of stalled.slice(0, returning).entries()) {
        const begun = performance.now();
        const offset = await offsetOf(sluice.target, path);
        waits.push(performance.now() - begun);
        if (!(await endsWell(sluice.target, path, seed, offset)))
          problems.push(`upload ${seed} is not whole`);
      }
      for (const { socket } of stalled) socket.destroy();
      const worst = Math.max(...waits) / 1000;
      const common = { measure: 'U12', baseline: '', problems };
      return [
        {
          ...common,
          what: `${uploads} stalled tus uploads, growth over the budget`,
          subject: `idle: ${Math.round(idle / mebibyte)} MiB`,
          goal: { bound: 'at most', first: 128, aim: 32, unit: ' MiB' },
          value: beyond,
          shown: `${beyond.toFixed(0)} MiB`,
        },
        {
          ...common,
          what: 'a client that comes back at once waits',
          subject: `the longest of ${waits.length}`,
          goal: { bound: 'below', first: 2, aim: 0.2, unit: ' s' },
          value: worst,
          shown: `${worst.toFixed(2)} s`,
          details: { milliseconds: waits },
        },
      ];
    }),
};

type Target = Subject['target'];

const authorized = ({ token }: Target) => ({ ...tus, authorization: `Bearer ${token}` });

/** Sends some of an upload, and then nothing. */
async function stall(target: Target, seed: number): Promise<{ path: string; socket: Socket }> {
  const headers = { ...authorized(target), 'upload-length': String(size) };
  const begun = await fetch(`${target.baseUrl}/_f_/bench/resumable`, { method: 'POST', headers });
  const { pathname: path } = new URL(begun.headers.get('location') ?? '', target.baseUrl);
  await begun.text();
  const { hostname, port, host } = new URL(target.baseUrl);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  const lines = [
    `PATCH ${path} HTTP/1.1`,
    `Host: ${host}`,
    ...Object.entries(authorized(target)).map(([name, value]) => `${name}: ${value}`),
    'Upload-Offset: 0',
    'Content-Type: application/offset+octet-stream',
    `Content-Length: ${size}`,
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  const end = 1 + ((seed * 1_103_515_245 + 12_345) % (size - 1));
  // one that the server makes wait is stalled as well
  const late = sleep(20_000, undefined, { ref: false });
  for (const slice of fileSlices(seed, end)) {
    if (socket.destroyed) break;
    if (!socket.write(slice))
      await Promise.race([once(socket, 'drain').catch(() => {}), once(socket, 'close'), late]);
  }
  return { path, socket };
}

async function offsetOf(target: Target, path: string): Promise<number> {
  const answer = await fetch(target.baseUrl + path, { method: 'HEAD', headers: authorized(target) });
  return Number(answer.headers.get('upload-offset'));
}

async function endsWell(target: Target, path: string, seed: number, offset: number): Promise<boolean> {
  const headers = {
    ...authorized(target),
    'upload-offset': String(offset),
    'content-type': 'application/offset+octet-stream',
  };
  const body = Buffer.concat([...fileSlices(seed, size, offset)]);
  const answer = await fetch(target.baseUrl + path, { method: 'PATCH', headers, body });
  if (answer.status !== 200) return false;
  const { s3Link } = (await answer.json()) as { s3Link: string };
  const bytes = await (await fetch(target.baseUrl + new URL(s3Link).pathname)).arrayBuffer();
  return crc32(Buffer.from(bytes)) === fileCrc32(seed, size);
}
