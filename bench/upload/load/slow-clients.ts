import { createForm, type Form, formSlices } from './form.ts';
import { serveJob } from './serve-job.ts';
import {
  describeUpload,
  failedUpload,
  type SentUpload,
  type Target,
  UploadConnection,
} from './upload-connection.ts';

/** Clients on bad links: each sends a little four times a second. */
export interface SlowJob {
  readonly target: Target;
  readonly clients: number;
  readonly bytesPerSecond: number;
  /** Bytes of each file. */
  readonly size: number;
  readonly firstSeed: number;
}

export interface SlowResult {
  readonly uploads: readonly SentUpload[];
  /** When the first client had sent its last byte, in milliseconds since 1970. */
  readonly firstSentAll: number;
}

const packetsPerSecond = 4;
const tickMilliseconds = 10;
/** How long an answer may take after the last byte. */
const answerTimeout = 60_000;

/** One client's body as one buffer: slow files are small. */
class SlowClient {
  readonly form: Form;
  readonly #connection: UploadConnection;
  readonly #body: Buffer;
  #begun = 0;
  #sent = 0;

  constructor(form: Form, connection: UploadConnection) {
    this.form = form;
    this.#connection = connection;
    this.#body = Buffer.concat([...formSlices(form)]);
  }

  begin(now: number): Promise<SentUpload> {
    this.#begun = now;
    this.#connection.writeHead(this.form.contentType, this.form.contentLength);
    return this.#connection
      .answer()
      .then(
        (answer) => describeUpload(this.form, answer, performance.now() - this.#begun),
        (error: unknown) => failedUpload(this.form, error, performance.now() - this.#begun),
      )
      .finally(() => this.#connection.close());
  }

  /** Sends what is due. Returns true once everything is sent. */
  send(now: number, bytesPerSecond: number): boolean {
    const packet = bytesPerSecond / packetsPerSecond;
    const packets = Math.floor(((now - this.#begun) / 1000) * packetsPerSecond) + 1;
    const due = Math.min(this.#body.length, Math.floor(packets * packet));
    if (due > this.#sent && !this.#connection.ended) {
      this.#connection.write(this.#body.subarray(this.#sent, due));
      this.#sent = due;
    }
    return this.#sent === this.#body.length || this.#connection.ended;
  }
}

serveJob<SlowJob, SlowResult>(async ({ target, clients, bytesPerSecond, size, firstSeed }) => {
  const slow = await Promise.all(
    Array.from(
      { length: clients },
      async (_, index) =>
        new SlowClient(createForm({ seed: firstSeed + index, size }), await UploadConnection.open(target)),
    ),
  );
  return {
    async run(reached) {
      const answers: Promise<SentUpload>[] = [];
      const sending = new Set<SlowClient>();
      let firstSentAll = Number.POSITIVE_INFINITY;
      const tick = (): void => {
        const now = performance.now();
        for (const client of sending) {
          if (!client.send(now, bytesPerSecond)) continue;
          sending.delete(client);
          firstSentAll = Math.min(firstSentAll, Date.now());
        }
      };
      const ticker = setInterval(tick, tickMilliseconds);
      // spread over one packet's time, so that they don't all send at the same moment
      for (const [index, client] of slow.entries()) {
        answers.push(client.begin(performance.now()));
        sending.add(client);
        if (index % Math.ceil(clients / 25) === 0) await pause(1000 / packetsPerSecond / 25);
      }
      reached('all sending');
      while (sending.size > 0) await pause(50);
      clearInterval(ticker);
      const uploads = await Promise.race([Promise.all(answers), pause(answerTimeout)]);
      if (uploads === undefined) throw new Error(`no answer ${answerTimeout} ms after the last byte`);
      return { uploads, firstSentAll };
    },
  };
});

function pause(milliseconds: number): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(undefined), milliseconds);
  });
}
