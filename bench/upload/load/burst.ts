import {
  type BenchFile,
  benchFile,
  type FileSpec,
  type SentUpload,
  type Target,
  Uploader,
} from './send-upload.ts';
import { serveJob } from './serve-job.ts';

/** Uploads each file once, over this many connections, as fast as possible. */
export interface BurstJob {
  readonly target: Target;
  readonly files: readonly FileSpec[];
  readonly connections: number;
}

export interface BurstResult {
  readonly uploads: readonly SentUpload[];
  /** From the first byte sent to the last answer. */
  readonly milliseconds: number;
}

serveJob<BurstJob, BurstResult>(async ({ target, files, connections }) => {
  const made = files.map(benchFile);
  const open = await Promise.all(Array.from({ length: connections }, () => Uploader.open(target)));
  return {
    async run() {
      const begun = performance.now();
      const uploads: SentUpload[] = [];
      const rest = made.values();
      await Promise.all(open.map((uploader) => sendAll(uploader, rest, uploads)));
      return { uploads, milliseconds: performance.now() - begun };
    },
  };
});

async function sendAll(uploader: Uploader, files: Iterable<BenchFile>, uploads: SentUpload[]): Promise<void> {
  for (const file of files) uploads.push(await uploader.upload(file));
  uploader.close();
}
