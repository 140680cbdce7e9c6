import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { quantile } from '../upload/harness/median.ts';
import type { BenchRequest } from './requests.ts';
import type { LoadJob, LoadResult } from './run-load.ts';

const headEnd = '\r\n\r\n';
const lastChunk = '0\r\n\r\n';

interface Run {
  /** The bytes of the next request. */
  next(): Buffer | string;
  /** In milliseconds of `performance.now()`. */
  readonly end: number;
  readonly counts: { good: number; bad: number; left: number };
  readonly latencies: number[];
}

/**
 * Sends the next request over each connection as soon as the last one is answered. autocannon takes more CPU for varying
 * requests than the measured server, on the same cores.
 */
export async function sendRequests(
  job: LoadJob,
  next: (encode: (request: BenchRequest) => string) => Buffer | string,
): Promise<LoadResult> {
  const encode = encoder(job.url);
  const sockets = await Promise.all(Array.from({ length: job.connections }, () => open(job.url)));
  const began = performance.now();
  const run: Run = {
    next: () => next(encode),
    end: began + (job.seconds ?? Number.POSITIVE_INFINITY) * 1000,
    counts: { good: 0, bad: 0, left: job.amount ?? Number.POSITIVE_INFINITY },
    latencies: [],
  };
  await Promise.all(sockets.map((socket) => drive(socket, run)));
  const elapsed = (performance.now() - began) / 1000;
  for (const socket of sockets) socket.destroy();
  const { counts, latencies } = run;
  return {
    good: counts.good,
    bad: counts.bad,
    perSecond: counts.good / elapsed,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
  };
}

/** A failed connection is not replaced: the failure counts once, and the measure reports it. */
function drive(socket: Socket, run: Run): Promise<void> {
  return new Promise((resolve) => {
    let answer: Answer | null = null;
    let sent = 0;
    const finish = (): void => {
      socket.off('close', fail);
      resolve();
    };
    const fail = (): void => {
      run.counts.bad++;
      finish();
    };
    const send = (): void => {
      if (run.counts.left-- <= 0) {
        finish();
        return;
      }
      sent = performance.now();
      socket.write(run.next(), 'latin1');
    };
    socket.on('error', () => {});
    socket.on('close', fail);
    socket.on('data', (chunk: Buffer) => {
      answer ??= new Answer();
      answer.add(chunk);
      if (!answer.whole) return;
      const now = performance.now();
      if (answer.good) run.counts.good++;
      else run.counts.bad++;
      run.latencies.push(now - sent);
      answer = null;
      if (now >= run.end) finish();
      else send();
    });
    send();
  });
}

/** Parses the head of an answer, and only counts its body. */
class Answer {
  whole = false;
  good = false;
  #head = '';
  #left: number | 'chunked' | null = null;
  #tail = '';

  add(chunk: Buffer): void {
    if (this.#left !== null) {
      this.#addBody(chunk, 0);
      return;
    }
    const before = this.#head.length;
    this.#head += chunk.toString('latin1', 0, 4096);
    const end = this.#head.indexOf(headEnd);
    if (end < 0) return;
    this.good = this.#head.startsWith('HTTP/1.1 200');
    const length = /\r\ncontent-length: (\d+)/i.exec(this.#head)?.[1];
    this.#left = length === undefined ? 'chunked' : Number(length);
    this.#addBody(chunk, end + headEnd.length - before);
  }

  #addBody(chunk: Buffer, from: number): void {
    if (this.#left === 'chunked') {
      const last = Math.max(from, chunk.byteLength - lastChunk.length);
      this.#tail = (this.#tail + chunk.toString('latin1', last)).slice(-lastChunk.length);
      this.whole = this.#tail === lastChunk;
      return;
    }
    this.#left = (this.#left ?? 0) - (chunk.byteLength - from);
    this.whole = this.#left <= 0;
  }
}

async function open(url: string): Promise<Socket> {
  const { protocol, hostname, port } = new URL(url);
  const address = { port: Number(port), host: hostname };
  const isTls = protocol === 'https:';
  // benchmarks use a self-signed certificate
  const socket = isTls ? connectTls({ ...address, rejectUnauthorized: false }) : connect(address);
  await once(socket, isTls ? 'secureConnect' : 'connect');
  socket.setNoDelay(true);
  return socket;
}

/** @returns a function that encodes requests; the header lines of each headers object are cached */
function encoder(url: string): (request: BenchRequest) => string {
  const { host } = new URL(url);
  const known = new WeakMap<object, string>();
  const none = {};
  return ({ method, path, headers = none, body = '' }) => {
    let lines = known.get(headers);
    if (lines === undefined) {
      lines = `host: ${host}\r\n`;
      for (const [name, value] of Object.entries(headers)) lines += `${name}: ${value}\r\n`;
      known.set(headers, lines);
    }
    // bodies are ASCII
    const length = body === '' ? '' : `content-length: ${body.length}\r\n`;
    return `${method} ${path} HTTP/1.1\r\n${lines}${length}\r\n${body}`;
  };
}
