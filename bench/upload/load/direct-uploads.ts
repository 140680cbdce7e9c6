import { setTimeout as sleep } from 'node:timers/promises';
import { fileCrc32, fileSlices } from './file-bytes.ts';
import { serveJob } from './serve-job.ts';
import { type Target, UploadConnection } from './upload-connection.ts';

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

interface Plan {
  readonly id: string;
  readonly location: string;
  readonly parts: readonly {
    readonly number: number;
    readonly offset: number;
    readonly size: number;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
  }[];
}

serveJob<DirectUploadsJob, DirectUploadsResult>(async (job) => {
  const { size, contents } = job;
  const checksums = Array.from({ length: contents }, (_, seed) => fileCrc32(seed, size));
  const clients = await Promise.all(
    Array.from({ length: job.clients }, async () => ({
      gateway: await UploadConnection.open(job.target),
      store: await UploadConnection.open({ ...job.target, baseUrl: job.store }),
    })),
  );
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
          const number = next++;
          const seed = number % contents;
          const { name, planned, completed } = await send(job, client, { number, seed });
          result.files.push({ name, size, crc32: checksums[seed] as number });
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
      for (const { gateway, store } of clients) {
        gateway.close();
        store.close();
      }
      // the plans of the last files are removed together, half a second later
      await sleep(700);
      return { ...result, seconds };
    },
  };
});

/** One file. Rejects when it is refused. */
async function send(
  { target, size }: DirectUploadsJob,
  { gateway, store }: { readonly gateway: UploadConnection; readonly store: UploadConnection },
  { number, seed }: { readonly number: number; readonly seed: number },
) {
  const begun = performance.now();
  const wanted = { name: `report ${number}.txt`, size, contentType: 'text/plain' };
  const plan = (await ask(gateway, target, { path: target.path, body: wanted, status: 201 })) as Plan;
  const planned = performance.now();
  const parts: { number: number; etag: string }[] = [];
  for (const part of plan.parts) {
    const { pathname, search, host } = new URL(part.url);
    let head = `PUT ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${part.size}\r\n`;
    for (const [name, value] of Object.entries(part.headers)) head += `${name}: ${value}\r\n`;
    const answer = await store.send(`${head}\r\n`, fileSlices(seed, part.offset + part.size, part.offset));
    const etag = /\r\netag: *"([^"]+)"/i.exec(answer.head)?.[1];
    if (answer.status !== 200 || etag === undefined)
      throw new Error(`part ${part.number} of ${plan.id}: ${answer.status} ${answer.body.slice(0, 300)}`);
    parts.push({ number: part.number, etag });
  }
  const sent = performance.now();
  const path = `${plan.location}/complete`;
  const file = (await ask(gateway, target, { path, body: { parts }, status: 200 })) as { name: string };
  if (file.name !== plan.id) throw new Error(`${plan.id} became ${file.name}`);
  return { name: plan.id, planned: planned - begun, completed: performance.now() - sent };
}

/** @returns the JSON of the answer */
async function ask(
  connection: UploadConnection,
  { baseUrl, token }: Target,
  { path, body, status }: { readonly path: string; readonly body: object; readonly status: number },
): Promise<unknown> {
  // ASCII
  const text = JSON.stringify(body);
  const answer = await connection.send(
    `POST ${path} HTTP/1.1\r\nHost: ${new URL(baseUrl).host}\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
  );
  if (answer.status !== status) throw new Error(`${path}: ${answer.status} ${answer.body.slice(0, 300)}`);
  return JSON.parse(answer.body);
}
