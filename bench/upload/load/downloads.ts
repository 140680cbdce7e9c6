import { once } from 'node:events';
import { connect } from 'node:net';
import { serveJob } from './serve-job.ts';

/** Connections that download files until the time is over. */
export interface DownloadsJob {
  readonly baseUrl: string;
  /** Each in turn. */
  readonly paths: readonly string[];
  /** Bytes of each file; 0 with `location`. */
  readonly size: number;
  /** The beginning of the address that a redirect leads to. Absent: the file itself is expected. */
  readonly location?: string;
  /** Accept of the requests. Absent: they have none. */
  readonly accept?: string;
  readonly connections: number;
  readonly milliseconds: number;
}

export interface DownloadsResult {
  /** Whole answers of 200 with the right length, or redirects. */
  readonly good: number;
  readonly bad: number;
  readonly perSecond: number;
}

serveJob<DownloadsJob, DownloadsResult>(async (job) => {
  const { hostname, port, host } = new URL(job.baseUrl);
  const accept = job.accept === undefined ? '' : `Accept: ${job.accept}\r\n`;
  const requests = job.paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${accept}\r\n`);
  const sockets = Array.from({ length: job.connections }, () => connect(Number(port), hostname));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const counts = { good: 0, bad: 0, next: 0 };
  return {
    async run() {
      const begun = performance.now();
      await Promise.all(sockets.map((socket) => drive(socket, begun + job.milliseconds)));
      const seconds = (performance.now() - begun) / 1000;
      return { good: counts.good, bad: counts.bad, perSecond: counts.good / seconds };
    },
  };

  function isExpected(head: string): boolean {
    if (job.location === undefined) return head.startsWith('HTTP/1.1 200 ');
    return head.startsWith('HTTP/1.1 307 ') && head.includes(`ocation: ${job.location}`);
  }

  /** A connection that fails, or gets a wrong answer, counts once and is not replaced. */
  function drive(socket: ReturnType<typeof connect>, end: number): Promise<void> {
    return new Promise((resolve) => {
      let left = -1;
      const stop = (bad: number): void => {
        counts.bad += bad;
        socket.removeAllListeners().on('error', () => {});
        socket.destroy();
        resolve();
      };
      const send = (): void => {
        socket.write(requests[counts.next++ % requests.length] as string, 'latin1');
      };
      socket.on('error', () => stop(1));
      socket.on('close', () => stop(1));
      // a head may come in two pieces
      let kept: Buffer | null = null;
      socket.on('data', (received: Buffer) => {
        if (left === -1) {
          const chunk = kept === null ? received : Buffer.concat([kept, received]);
          const headEnd = chunk.indexOf('\r\n\r\n');
          kept = headEnd < 0 ? chunk : null;
          if (headEnd < 0) return;
          const head = chunk.toString('latin1', 0, headEnd);
          const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
          if (!isExpected(head) || Number(length ?? 0) !== job.size) return stop(1);
          left = job.size - (chunk.byteLength - headEnd - 4);
        } else left -= received.byteLength;
        if (left > 0) return;
        counts.good++;
        left = -1;
        if (performance.now() >= end) stop(0);
        else send();
      });
      send();
    });
  }
});
