import { setTimeout as sleep } from 'node:timers/promises';
import { fileSlices } from './file-bytes.ts';
import { formContentType, formHead, formTail } from './form.ts';
import { serveJob } from './serve-job.ts';
import { type Target, UploadConnection } from './upload-connection.ts';

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
  readonly #connection: UploadConnection;
  readonly #job: SilentJob;
  #sent: number;

  private constructor(job: SilentJob, connection: UploadConnection) {
    this.#job = job;
    this.#connection = connection;
    this.#sent = job.begun;
  }

  static async open(job: SilentJob, seed: number): Promise<SilentClient> {
    const connection = await UploadConnection.open(job.target);
    const head = formHead(`silent-${seed}.bin`);
    connection.writeHead(formContentType, head.length + job.size + formTail().length);
    connection.write(head);
    for (const slice of fileSlices(seed, job.begun)) connection.write(slice);
    return new SilentClient(job, connection);
  }

  get ended(): boolean {
    return this.#connection.ended || this.#connection.answered;
  }

  trickle(): void {
    const bytes = Math.min(this.#job.bytesPerSecond / packetsPerSecond, this.#job.size - this.#sent);
    // a paused upload sends nothing more
    if (bytes <= 0 || this.ended || this.#connection.pending > 0) return;
    this.#sent += bytes;
    this.#connection.write(Buffer.alloc(bytes));
  }

  close(): void {
    this.#connection.close();
  }
}

serveJob<SilentJob, SilentResult>(async (job) => ({
  async run(reached, stopped) {
    let seed = 0;
    let ended = 0;
    const open = (): Promise<SilentClient> => SilentClient.open(job, seed++);
    const clients = await Promise.all(Array.from({ length: job.clients }, open));
    const replace = async (): Promise<void> => {
      const at = clients.findIndex((client) => client.ended);
      if (at === -1) return;
      clients[at]?.close();
      ended++;
      clients[at] = await open();
    };
    const timers = [
      setInterval(() => void replace().catch(() => {}), replacement),
      setInterval(() => clients.forEach((client) => void client.trickle()), 1000 / packetsPerSecond),
    ];
    await sleep(calm);
    reached('all silent');
    await stopped;
    for (const timer of timers) clearInterval(timer);
    for (const client of clients) client.close();
    return { ended };
  },
}));
