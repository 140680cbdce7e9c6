import { type BenchFile, benchFile, type SentUpload, type Target, Uploader } from './send-upload.ts';
import { serveJob } from './serve-job.ts';

/** Connections that upload repeatedly until the time is over. */
export interface SteadyJob {
  readonly target: Target;
  readonly connections: number;
  /** Bytes of each file. */
  readonly size: number;
  /** No upload begins after this many milliseconds. */
  readonly milliseconds: number;
  /** Of the first connection's file; the others count on. */
  readonly firstIndex: number;
}

export interface SteadyResult {
  readonly uploads: readonly SentUpload[];
  /** Sum over the connections of whole files' bytes by the time from the start to the connection's last answer. */
  readonly bytesPerSecond: number;
  /** When the last answer arrived, in milliseconds since 1970. */
  readonly ended: number;
}

serveJob<SteadyJob, SteadyResult>(async ({ target, connections, size, milliseconds, firstIndex }) => {
  const files = Array.from({ length: connections }, (_, number) =>
    benchFile({ index: firstIndex + number, size }),
  );
  const open = await Promise.all(files.map(() => Uploader.open(target)));
  return {
    async run() {
      const begun = performance.now();
      const uploads: SentUpload[] = [];
      const rates = await Promise.all(
        open.map(async (uploader, number) => {
          const file = files[number] as BenchFile;
          let bytes = 0;
          while (performance.now() - begun < milliseconds) {
            const upload = await uploader.upload(file);
            uploads.push(upload);
            if (upload.problem !== null) break;
            bytes += size;
          }
          uploader.close();
          return (bytes / (performance.now() - begun)) * 1000;
        }),
      );
      return { uploads, bytesPerSecond: rates.reduce((sum, rate) => sum + rate, 0), ended: Date.now() };
    },
  };
});
