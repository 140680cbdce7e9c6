import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Exchange } from '#load/files/exchange.ts';
import { formAround, formOf } from '#load/files/upload-form.ts';
import { Connection, type RequestBody } from '#load/http/connection.ts';
import { slicesOf } from '#load/seed/bytes.ts';
import { benchSeed, sessionOver, type Target } from './send-upload.ts';
import { serveJob } from './serve-job.ts';

/** Uploads that announce more than the server accepts. */
export interface ClaimedSizeJob {
  readonly target: Target;
  /** The value of Content-Length. */
  readonly claimedBytes: number;
  /** Clients that send as fast as they can; their answers are timed. */
  readonly timed: number;
  /** Clients that send in small steps, to count what the server reads. */
  readonly counted: number;
}

export interface ClaimedSizeResult {
  /** From the first byte sent to the last byte of the answer, in milliseconds. */
  readonly times: readonly number[];
  /** Upper bounds of what the server read of each counted client's body. */
  readonly readBytes: readonly number[];
  /** Of every client. */
  readonly statuses: readonly number[];
}

const stepMilliseconds = 5;
/** A server that reads more than this fails the measure. */
const stopAfterBytes = 16 * 1024 * 1024;
const stopAfterMilliseconds = 5000;

serveJob<ClaimedSizeJob, ClaimedSizeResult>(async (job) => ({
  async run() {
    const times: number[] = [];
    const readBytes: number[] = [];
    const statuses: number[] = [];
    for (let round = 0; round < job.timed; round++) {
      const { status, milliseconds } = await timeRefusal(job);
      times.push(milliseconds);
      statuses.push(status);
    }
    for (let round = 0; round < job.counted; round++) {
      const { status, bytes } = await countRead(job);
      readBytes.push(bytes);
      statuses.push(status);
    }
    return { times, readBytes, statuses };
  },
}));

async function timeRefusal(job: ClaimedSizeJob) {
  const connection = await Connection.open(job.target.baseUrl);
  const begun = performance.now();
  const status = await send(connection, job, slicesOf(benchSeed, 1, 0, stopAfterBytes));
  const milliseconds = performance.now() - begun;
  connection.close();
  return { status, milliseconds };
}

/**
 * What the server has read is not visible from outside, but it is everything that was sent and is in neither socket's
 * queue. A step is only sent after the last one was read, so when the server answers, and the connection is closed, the total
 * is at most one step too high.
 */
async function countRead(job: ClaimedSizeJob) {
  const connection = await Connection.open(job.target.baseUrl);
  const { localPort } = connection;
  const begun = performance.now();
  let bytes = 0;
  async function* steps(): AsyncGenerator<Buffer> {
    for (const slice of slicesOf(benchSeed, 2, 0, stopAfterBytes)) {
      while (queuedBytes(localPort) > 0 && performance.now() - begun < stopAfterMilliseconds)
        await sleep(stepMilliseconds);
      if (connection.closed) return;
      bytes += slice.byteLength;
      yield slice;
      await sleep(stepMilliseconds);
    }
  }
  const status = await send(connection, job, steps());
  connection.close();
  return { status, bytes };
}

/** @returns the status of the answer; 0: there is none in time */
async function send(
  connection: Connection,
  { target, claimedBytes }: ClaimedSizeJob,
  body: Exclude<RequestBody, Buffer>,
): Promise<number> {
  const exchange = new Exchange(sessionOver(connection, target), AbortSignal.timeout(stopAfterMilliseconds));
  const call = { request: `POST ${target.path}`, ...formOf(claimedBytes, formFrom(body)) };
  return exchange.send(call).then(
    ({ status }) => status,
    () => 0,
  );
}

async function* formFrom(body: Exclude<RequestBody, Buffer>): AsyncGenerator<Buffer> {
  yield formAround('claimed.bin').head;
  yield* body;
}

/** Bytes that wait in the client's send queue and in the server's receive queue, by /proc/net/tcp (proc(5)). */
function queuedBytes(clientPort: number): number {
  const port = `:${clientPort.toString(16).toUpperCase().padStart(4, '0')}`;
  let bytes = 0;
  for (const line of readFileSync('/proc/net/tcp', 'latin1').split('\n')) {
    const [, local = '', remote = '', , queues = ''] = line.trim().split(/\s+/);
    const [sending = '0', receiving = '0'] = queues.split(':');
    if (local.endsWith(port)) bytes += Number.parseInt(sending, 16);
    else if (remote.endsWith(port)) bytes += Number.parseInt(receiving, 16);
  }
  return bytes;
}
