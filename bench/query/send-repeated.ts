import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { LoadJob, LoadResult } from './load.ts';
import type { BenchRequest } from './requests.ts';

const headEnd = Buffer.from('\r\n\r\n');
const lastChunk = Buffer.from('0\r\n\r\n');

/** How the first answer looks: the others have the same bytes but for ids and times of the same length. */
interface Shape {
  readonly status: Buffer;
  readonly length: number;
}

/**
 * Sends one request over each connection as soon as the last one was answered. Its bytes are made once, and an answer is
 * known by its length: that of the first one, which is read whole.
 */
export async function sendRepeated(job: LoadJob, request: BenchRequest): Promise<LoadResult> {
  const bytes = textOf(job.url, request);
  const sockets = await Promise.all(Array.from({ length: job.connections }, () => open(job.url)));
  const shape = await firstAnswer(sockets[0] as Socket, bytes);
  const latencies: number[] = [];
  const counts = { good: 0, bad: 0 };
  const began = performance.now();
  const end = began + job.seconds * 1000;
  await Promise.all(sockets.map((socket) => drive(socket, bytes, shape, { end, counts, latencies })));
  const elapsed = (performance.now() - began) / 1000;
  for (const socket of sockets) socket.destroy();
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0;
  return { ...counts, perSecond: counts.good / elapsed, p50: at(0.5), p99: at(0.99) };
}

function drive(
  socket: Socket,
  request: Buffer,
  { status, length }: Shape,
  run: {
    readonly end: number;
    readonly counts: { good: number; bad: number };
    readonly latencies: number[];
  },
): Promise<void> {
  return new Promise((resolve) => {
    let got = 0;
    let right = true;
    let sent = performance.now();
    const fail = (): void => {
      run.counts.bad++;
      resolve();
    };
    socket.on('error', fail);
    socket.on('close', fail);
    socket.on('data', (chunk: Buffer) => {
      if (got === 0) right = chunk.subarray(0, status.byteLength).equals(status);
      got += chunk.byteLength;
      if (!right || got > length) return fail();
      if (got < length) return;
      const now = performance.now();
      run.counts.good++;
      run.latencies.push(now - sent);
      if (now >= run.end) {
        socket.off('close', fail);
        return resolve();
      }
      got = 0;
      sent = now;
      socket.write(request);
    });
    socket.write(request);
  });
}

async function open(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.setNoDelay(true);
  return socket;
}

async function firstAnswer(socket: Socket, request: Buffer): Promise<Shape> {
  socket.write(request);
  let bytes = Buffer.alloc(0);
  for (;;) {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    bytes = Buffer.concat([bytes, chunk]);
    const head = bytes.indexOf(headEnd);
    if (head < 0) continue;
    const headers = bytes.toString('latin1', 0, head);
    const announced = /^content-length: (\d+)/im.exec(headers)?.[1];
    const whole =
      announced === undefined
        ? bytes.subarray(-lastChunk.byteLength).equals(lastChunk)
        : bytes.byteLength === head + headEnd.byteLength + Number(announced);
    if (!whole) continue;
    if (!headers.startsWith('HTTP/1.1 200')) throw new Error(headers);
    return { status: Buffer.from('HTTP/1.1 200'), length: bytes.byteLength };
  }
}

function textOf(url: string, { method, path, headers = {}, body = '' }: BenchRequest): Buffer {
  const { host } = new URL(url);
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${host}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== '') lines.push(`content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
}
