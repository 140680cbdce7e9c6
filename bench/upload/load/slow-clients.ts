import { setTimeout as sleep } from 'node:timers/promises';
import { Exchange } from '#load/files/exchange.ts';
import { formOf, formSlices, sendForm } from '#load/files/upload-form.ts';
import { Connection } from '#load/http/connection.ts';
import {
  type BenchFile,
  benchFile,
  benchSeed,
  type SentUpload,
  sessionOver,
  type Target,
  timed,
} from './send-upload.ts';
import { serveJob } from './serve-job.ts';

/** Clients on bad links: each sends a little four times a second. */
export interface SlowJob {
  readonly target: Target;
  readonly clients: number;
  readonly bytesPerSecond: number;
  /** Bytes of each file. */
  readonly size: number;
  readonly firstIndex: number;
}

export interface SlowResult {
  readonly uploads: readonly SentUpload[];
  /** When the first client had sent its last byte, in milliseconds since 1970. */
  readonly firstSentAll: number;
}

const packetsPerSecond = 4;
/** How long an answer may take after the last byte. */
const answerTimeout = 60_000;

serveJob<SlowJob, SlowResult>(async ({ target, clients, bytesPerSecond, size, firstIndex }) => {
  const slow = await Promise.all(
    Array.from({ length: clients }, async (_, number) => ({
      file: benchFile({ index: firstIndex + number, size }),
      connection: await Connection.open(target.baseUrl),
    })),
  );
  return {
    async run(reached) {
      const sent: number[] = [];
      const answers: Promise<SentUpload>[] = [];
      // spread over one packet's time, so that they don't all send at the same moment
      for (const [number, { file, connection }] of slow.entries()) {
        const body = slowBody(file, bytesPerSecond, () => void sent.push(Date.now()));
        const exchange = new Exchange(
          sessionOver(connection, target),
          AbortSignal.timeout((size / bytesPerSecond) * 1000 + answerTimeout),
        );
        const upload = timed(file, () => sendForm(exchange, target.path, formOf(file.bodySize, body)));
        answers.push(upload.finally(() => connection.close()));
        if (number % Math.ceil(clients / 25) === 0) await sleep(1000 / packetsPerSecond / 25);
      }
      reached('all sending');
      const uploads = await Promise.all(answers);
      return { uploads, firstSentAll: Math.min(...sent) };
    },
  };
});

/** The form as one buffer, of which a packet is sent when it is due: slow files are small. */
async function* slowBody(file: BenchFile, bytesPerSecond: number, onEnd: () => void): AsyncGenerator<Buffer> {
  const body = Buffer.concat([...formSlices(benchSeed, file)]);
  const packet = Math.floor(bytesPerSecond / packetsPerSecond);
  const begun = performance.now();
  for (let at = 0, packets = 0; at < body.byteLength; at += packet, packets++) {
    await sleep(Math.max(0, begun + (packets * 1000) / packetsPerSecond - performance.now()));
    yield body.subarray(at, at + packet);
  }
  onEnd();
}
