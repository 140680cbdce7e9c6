import { readFileSync } from 'node:fs';
import { fileSlices } from './file-bytes.ts';
import { formContentType, formHead } from './form.ts';
import { serveJob } from './serve-job.ts';
import { type Target, UploadConnection } from './upload-connection.ts';

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

const stepBytes = 64 * 1024;
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

async function timeRefusal({ target, claimedBytes }: ClaimedSizeJob) {
  const connection = await UploadConnection.open(target);
  const begun = performance.now();
  connection.writeHead(formContentType, claimedBytes);
  connection.write(formHead('claimed.bin'));
  const answer = connection.answer();
  let arrived = false;
  const settled = answer.finally(() => {
    arrived = true;
  });
  for (const slice of fileSlices(1, stopAfterBytes)) {
    if (arrived || connection.answered || connection.ended) break;
    connection.write(slice);
    while (connection.pending > 0 && !arrived && !connection.ended) await soon();
  }
  const { status } = await settled;
  const milliseconds = performance.now() - begun;
  connection.close();
  return { status, milliseconds };
}

/**
 * What the server has read is not visible from outside, but it is everything that was sent and is in neither socket's
 * queue. A step is only sent after the last one was read, so when the server closes, and the queues are gone, the total is
 * at most one step too high.
 */
async function countRead({ target, claimedBytes }: ClaimedSizeJob) {
  const connection = await UploadConnection.open(target);
  const { localPort } = connection;
  const answer = connection.answer().catch(() => null);
  connection.writeHead(formContentType, claimedBytes);
  const begun = performance.now();
  const unread = (): number => connection.pending + queuedBytes(localPort);
  let sent = 0;
  for (const slice of smallSlices()) {
    while (unread() > 0 && !connection.ended && performance.now() - begun < stopAfterMilliseconds) {
      await pause(stepMilliseconds);
    }
    if (connection.ended || performance.now() - begun > stopAfterMilliseconds) break;
    connection.write(slice);
    sent += slice.length;
    await pause(stepMilliseconds);
  }
  const bytes = connection.ended ? sent : sent - unread();
  connection.close();
  return { status: (await answer)?.status ?? 0, bytes };
}

function* smallSlices(): Generator<Buffer> {
  for (const slice of fileSlices(2, stopAfterBytes)) {
    for (let at = 0; at < slice.length; at += stepBytes) yield slice.subarray(at, at + stepBytes);
  }
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

function soon(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}
