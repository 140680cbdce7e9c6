import { setTimeout as sleep } from 'node:timers/promises';
import { Exchange } from '#load/files/exchange.ts';
import { seedFile } from '#load/files/file-session.ts';
import { formAround, formOf, sendForm } from '#load/files/upload-form.ts';
import { Connection } from '#load/http/connection.ts';
import { slicesOf } from '#load/seed/bytes.ts';
import { benchSeed, sessionOver, type Target } from './send-upload.ts';
import { serveJob } from './serve-job.ts';

/** Clients that each send the beginning of a file, and then nothing or a trickle, until they are stopped. */
export interface SilentJob {
  readonly target: Target;
  readonly clients: number;
  /** Bytes of each file. */
  readonly size: number;
  /** Bytes of the file that are sent at once. */
  readonly begun: number;
  /** Bytes per second of each client after that. */
  readonly bytesPerSecond: number;
}

export interface SilentResult {
  /** Connections that ended, mostly with an error, and were replaced. */
  readonly ended: number;
}

const packetsPerSecond = 4;
/** Pause before a connection is replaced. Milliseconds. */
const replacement = 312;
/** How long they are silent before the measurement of others. Milliseconds. */
const calm = 2000;

class SilentClient {
  readonly #connection: Connection;
  ended = false;

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  static async open(job: SilentJob, index: number): Promise<SilentClient> {
    const client = new SilentClient(await Connection.open(job.target.baseUrl));
    const exchange = new Exchange(sessionOver(client.#connection, job.target), new AbortController().signal);
    const file = seedFile(benchSeed, index, job.size);
    const form = formAround(file.name);
    const bytes = form.head.byteLength + job.size + form.tail.byteLength;
    const body = client.#body(job, index, form.head);
    void sendForm(exchange, job.target.path, formOf(bytes, body))
      .catch(() => {})
      .finally(() => {
        client.ended = true;
      });
    return client;
  }

  close(): void {
    this.#connection.close();
  }

  /** A paused upload sends nothing more. */
  async *#body(
    { begun, size, bytesPerSecond }: SilentJob,
    index: number,
    head: Buffer,
  ): AsyncGenerator<Buffer> {
    yield head;
    yield* slicesOf(benchSeed, index, 0, begun);
    const packet = Buffer.alloc(bytesPerSecond / packetsPerSecond);
    for (let sent = begun; !this.ended && !this.#connection.closed; ) {
      await sleep(1000 / packetsPerSecond);
      const bytes = packet.subarray(0, size - sent);
      sent += bytes.byteLength;
      if (bytes.byteLength > 0) yield bytes;
    }
  }
}

serveJob<SilentJob, SilentResult>(async (job) => ({
  async run(reached, stopped) {
    let next = 0;
    let ended = 0;
    const open = (): Promise<SilentClient> => SilentClient.open(job, next++);
    const clients = await Promise.all(Array.from({ length: job.clients }, open));
    const replace = async (): Promise<void> => {
      const at = clients.findIndex((client) => client.ended);
      if (at === -1) return;
      clients[at]?.close();
      ended++;
      clients[at] = await open();
    };
    const timer = setInterval(() => void replace().catch(() => {}), replacement);
    await sleep(calm);
    reached('all silent');
    await stopped;
    clearInterval(timer);
    for (const client of clients) client.close();
    return { ended };
  },
}));
