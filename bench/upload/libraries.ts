import { Busboy } from '@fastify/busboy';
import { MultipartParser } from '#gateway/multipart/multipart-parser.ts';
import { formAround, formContentType } from '#load/files/upload-form.ts';
import { startUsualWay } from './baselines/start-baseline.ts';
import { mebibyte } from './harness/bytes.ts';
import { describeMachine, machineLine } from './harness/machine.ts';
import { median } from './harness/median.ts';
import { residentBytes } from './harness/process-usage.ts';
import { settle } from './harness/settle.ts';
import { sendBurst } from './measures/send-burst.ts';
import { startSink } from './sink/start-sink.ts';

/**
 * `node --import tsx bench/upload/libraries.ts`: the cost of the parts of @fastify/busboy and @aws-sdk/lib-storage that the
 * gateway does not use (docs/decisions/070-parts-without-lib-storage.md and 071-the-upper-half-of-busboy.md).
 */
const rounds = 7;
/** The largest chunks of uWebSockets.js. */
const readBytes = 512 * 1024;
const bytes = Buffer.alloc(readBytes, 'abcdefghijklmnopqrstuvwxyz0123456789');
const large = { forms: 1, reads: 1024 };
const small = { forms: 2000, reads: 1 };

type Parse = (body: readonly Buffer[]) => Promise<number>;

/** Delivers the file's bytes synchronously, so nothing has to be copied. */
const withDicer: Parse = async (body) => {
  let seen = 0;
  const parser = new MultipartParser(/boundary=(.*)/.exec(formContentType)?.[1] as string, {
    onPart: () => (chunk) => {
      seen += chunk.byteLength;
    },
    onEnd: () => {},
    onError: (error) => {
      throw error;
    },
  });
  for (const chunk of body) parser.feed(chunk);
  parser.end();
  return seen;
};

/** The file is a stream, which buffers chunks, so chunks of uWebSockets.js have to be copied. */
const withBusboy =
  (copies: boolean): Parse =>
  (body) =>
    new Promise((resolve, reject) => {
      let seen = 0;
      const busboy = new Busboy({ headers: { 'content-type': formContentType } });
      busboy.on('file', (_field, file) =>
        file.on('data', (chunk: Buffer) => {
          seen += chunk.byteLength;
        }),
      );
      busboy.on('error', reject);
      busboy.on('finish', () => resolve(seen));
      const next = (index: number): void => {
        const chunk = body[index];
        if (chunk === undefined) busboy.end();
        else busboy.write(copies ? Buffer.from(chunk) : chunk, () => next(index + 1));
      };
      next(0);
    });

const parsers: Readonly<Record<string, Parse>> = {
  'Dicer, and our upper half': withDicer,
  'Busboy, chunks copied': withBusboy(true),
  Busboy: withBusboy(false),
};

async function measure(name: string, parse: Parse, size: number): Promise<{ large: number; small: number }> {
  const cpu = async ({ forms, reads }: typeof large, fileBytes: number): Promise<number> => {
    const file = bytes.subarray(0, fileBytes);
    const { head, tail } = formAround('a.bin');
    const body = [head, ...Array<Buffer>(reads).fill(file), tail];
    // a small form arrives in one read
    const chunks = reads === 1 ? [Buffer.concat(body)] : body;
    const before = process.cpuUsage();
    for (let form = 0; form < forms; form++) {
      if ((await parse(chunks)) !== reads * fileBytes) throw new Error(`${name}: bytes are missing`);
    }
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  return {
    large: ((await cpu(large, readBytes)) / 1e6 / (large.reads * readBytes)) * 1024 * mebibyte,
    small: (await cpu(small, size)) / small.forms,
  };
}

async function compareParsers(): Promise<void> {
  const results = new Map(
    Object.keys(parsers).map((name) => [name, [] as { large: number; small: number }[]]),
  );
  for (let round = -1; round < rounds; round++) {
    for (const [name, parse] of Object.entries(parsers)) {
      const result = await measure(name, parse, 64 * 1024);
      // the first round warms up
      if (round >= 0) results.get(name)?.push(result);
    }
  }
  const rows = [...results].map(([name, values]) => {
    const gibibyte = median(values.map(({ large }) => large)).toFixed(3);
    return `| ${name} | ${gibibyte} | ${median(values.map(({ small }) => small)).toFixed(1)} |`;
  });
  const head = ['| | 512 MiB, CPU s/GiB | 64 KiB, CPU us a form |', '|---|---|---|'];
  process.stdout.write(`${[...head, ...rows].join('\n')}\n`);
}

/** U4 with lib-storage, which has no budget. */
async function compareMemory(): Promise<void> {
  const sink = await startSink();
  for (const count of [50, 100, 200]) {
    const usual = await startUsualWay(sink);
    try {
      await settle();
      const idle = residentBytes(usual.pids);
      const files = Array.from({ length: count }, (_, index) => ({ index, size: 16 * mebibyte }));
      const { peakMemory, problems } = await sendBurst(usual, files, count);
      if (problems.length > 0) throw new Error(problems.join('; '));
      const growth = Math.round((peakMemory - idle) / mebibyte);
      process.stdout.write(`lib-storage, ${count} files of 16 MiB at once: +${growth} MiB\n`);
    } finally {
      await usual.stop();
    }
  }
}

process.stdout.write(`${machineLine(describeMachine())}\n`);
await compareParsers();
await compareMemory();
// the sink's channel would keep the process alive
process.exit();
