import { setTimeout as sleep } from 'node:timers/promises';
import { Exchange } from '#load/files/exchange.ts';
import { type FileSession, seedFile } from '#load/files/file-session.ts';
import { completeDirect, planDirect, sendParts } from '#load/files/upload-direct.ts';
import { Connection } from '#load/http/connection.ts';
import { benchSeed, fileCrc32, sessionOver, type Target } from './send-upload.ts';
import { serveJob } from './serve-job.ts';

/** Clients that send files straight to the store: each plans one, sends its parts, completes it, and goes on. */
export interface DirectUploadsJob {
  /** Its path is that of the plans. */
  readonly target: Target;
  /** The store as the addresses of parts have it. */
  readonly store: string;
  /** Each has a connection to the gateway, and one to the store. */
  readonly clients: number;
  /** Bytes of each file. */
  readonly size: number;
  /** Different contents, which files have in turn. */
  readonly contents: number;
  /** No file begins after these; either may be infinite, as null. */
  readonly files: number | null;
  readonly milliseconds: number | null;
}

export interface DirectUploadsResult {
  readonly files: readonly { readonly name: string; readonly size: number; readonly crc32: number }[];
  /** One sentence for each failed file; its client stops. */
  readonly failures: readonly string[];
  readonly seconds: number;
  /** Milliseconds of each file's plan, and of its completion. */
  readonly plans: readonly number[];
  readonly completions: readonly number[];
}

serveJob<DirectUploadsJob, DirectUploadsResult>(async (job) => {
  const { size, contents } = job;
  const checksums = Array.from({ length: contents }, (_, index) => fileCrc32(index, size));
  const clients = await Promise.all(Array.from({ length: job.clients }, () => openClient(job)));
  return {
    async run() {
      const begun = performance.now();
      const end = begun + (job.milliseconds ?? Number.POSITIVE_INFINITY);
      const result = { files: [], failures: [], plans: [], completions: [] } as {
        [Key in Exclude<keyof DirectUploadsResult, 'seconds'>]: DirectUploadsResult[Key][number][];
      };
      let next = 0;
      const work = async (client: (typeof clients)[number]): Promise<void> => {
        while (next < (job.files ?? Number.POSITIVE_INFINITY) && performance.now() < end) {
          const content = next++ % contents;
          const { name, planned, completed } = await send(job, client, content);
          result.files.push({ name, size, crc32: checksums[content] as number });
          result.plans.push(planned);
          result.completions.push(completed);
        }
      };
      await Promise.all(
        clients.map((client) =>
          work(client).catch((error: unknown) => void result.failures.push(String(error))),
        ),
      );
      const seconds = (performance.now() - begun) / 1000;
      for (const client of clients) client.close();
      // the plans of the last files are removed together, half a second later
      await sleep(700);
      return { ...result, seconds };
    },
  };
});

/** Over one connection to the gateway, and one to the store. */
async function openClient({ target, store }: DirectUploadsJob): Promise<FileSession & { close(): void }> {
  const gateway = await Connection.open(target.baseUrl);
  const bucket = await Connection.open(store);
  return {
    ...sessionOver(gateway, target),
    senderOf: (origin) => (origin === target.baseUrl ? gateway : bucket),
    close() {
      gateway.close();
      bucket.close();
    },
  };
}

/** One file. Rejects when it is refused. */
async function send({ size }: DirectUploadsJob, client: FileSession, content: number) {
  const begun = performance.now();
  const exchange = new Exchange(client, new AbortController().signal);
  const file = seedFile(benchSeed, content, size);
  const plan = await planDirect(exchange, file);
  const planned = performance.now();
  const parts = await sendParts(exchange, file, plan);
  const sent = performance.now();
  const name = await completeDirect(exchange, plan, parts);
  if (name !== plan.id) throw new Error(`${plan.id} became ${name}`);
  return { name, planned: planned - begun, completed: performance.now() - sent };
}
