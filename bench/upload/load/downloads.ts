import { type Answer, Connection } from '#load/http/connection.ts';
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
  const { host } = new URL(job.baseUrl);
  const accept = job.accept === undefined ? '' : `Accept: ${job.accept}\r\n`;
  const requests = job.paths.map((path) =>
    Buffer.from(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${accept}\r\n`),
  );
  const open = await Promise.all(Array.from({ length: job.connections }, () => Connection.open(job.baseUrl)));
  const counts = { good: 0, bad: 0, next: 0 };
  return {
    async run() {
      const begun = performance.now();
      await Promise.all(open.map((connection) => drive(connection, begun + job.milliseconds)));
      const seconds = (performance.now() - begun) / 1000;
      return { good: counts.good, bad: counts.bad, perSecond: counts.good / seconds };
    },
  };

  function isExpected({ status, head, bytes }: Answer): boolean {
    // behind the head is an empty line
    if (bytes - head.length - 2 !== job.size) return false;
    if (job.location === undefined) return status === 200;
    return status === 307 && head.includes(`ocation: ${job.location}`);
  }

  /** A connection that fails, or gets a wrong answer, counts once and is not replaced. */
  async function drive(connection: Connection, end: number): Promise<void> {
    try {
      while (performance.now() < end) {
        const answer = await connection.send(requests[counts.next++ % requests.length] as Buffer);
        if (!isExpected(answer)) throw new Error('not the file');
        counts.good++;
      }
    } catch {
      counts.bad++;
    }
    connection.close();
  }
});
