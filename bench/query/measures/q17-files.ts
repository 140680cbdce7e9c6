import { setTimeout as sleep } from 'node:timers/promises';
import { mebibyte } from '../../upload/harness/bytes.ts';
import type { Child } from '../../upload/harness/child-process.ts';
import { median } from '../../upload/harness/median.ts';
import { watchMemory } from '../../upload/harness/memory-watch.ts';
import { residentBytes } from '../../upload/harness/process-usage.ts';
import { progress } from '../../upload/harness/progress.ts';
import type { Finding } from '../../upload/measures/measure.ts';
import { authorization } from '../direct-store.ts';
import { importFindings } from './q17-imports.ts';
import type { QueryMeasure } from './query-bench.ts';

const formats = ['parquet', 'csv', 'ndjson', 'arrow'];
/** Bytes a second of a slow reader, and for how long. */
const rate = 2 * mebibyte;
const slowFor = 10_000;

async function exportOf(
  { ready }: Child,
  format: string,
  space = 'people',
): Promise<ReadableStream<Uint8Array>> {
  const answer = await fetch(`${ready}/bench/${space}/_export_.${format}`, { headers: { authorization } });
  if (answer.status !== 200 || answer.body === null)
    throw new Error(`${answer.status} ${await answer.text()}`);
  return answer.body;
}

async function chunksOf(stream: ReadableStream<Uint8Array>): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

async function parquetOf(child: Child, space: string): Promise<Blob> {
  return new Blob([Buffer.concat(await chunksOf(await exportOf(child, 'parquet', space)))]);
}

/** @returns seconds, and bytes */
async function readAll(child: Child, format: string): Promise<{ seconds: number; bytes: number }> {
  const began = performance.now();
  let bytes = 0;
  for await (const chunk of await exportOf(child, format)) bytes += chunk.byteLength;
  return { seconds: (performance.now() - began) / 1000, bytes };
}

/** @returns the growth of the process meanwhile. MiB */
async function readSlowly(child: Child, format: string): Promise<number> {
  const before = residentBytes([child.pid]);
  const watch = watchMemory([child.pid]);
  const began = performance.now();
  let bytes = 0;
  for await (const chunk of await exportOf(child, format)) {
    bytes += chunk.byteLength;
    const elapsed = performance.now() - began;
    if (elapsed > slowFor) break;
    await sleep(Math.max(0, (bytes / rate) * 1000 - elapsed));
  }
  return (watch.end().peak - before) / mebibyte;
}

/** How long do an export and an import of a space take, and how much memory does a slow reader hold? */
export const q17: QueryMeasure = {
  id: 'Q17',
  async run({ store, rows, rounds }) {
    const made = await store(rows);
    const findings: Finding[] = [];
    const child = await made.start();
    try {
      for (const format of formats) {
        const times: number[] = [];
        const growths: number[] = [];
        let size = 0;
        for (let round = 1; round <= rounds; round++) {
          const { seconds, bytes } = await readAll(child, format);
          times.push(seconds);
          size = bytes;
          growths.push(await readSlowly(child, format));
          progress(
            `Q17: ${format}, round ${round} of ${rounds}: ${seconds.toFixed(2)} s, +${growths.at(-1)?.toFixed(0)} MiB`,
          );
        }
        const shared = { measure: 'Q17', baseline: `${(size / 1e6).toFixed(0)} MB`, problems: [] };
        const value = median(times);
        findings.push({
          ...shared,
          what: `export of ${rows} records as ${format}`,
          value,
          shown: `${value.toFixed(2)} s`,
          subject: `${times.map((time) => time.toFixed(2)).join(', ')} s`,
          goal: { bound: 'at most', first: 8, aim: 3, unit: ' s' },
          details: { times, size },
        });
        const growth = Math.max(...growths);
        findings.push({
          ...shared,
          what: `${format} to a slow reader, RSS growth`,
          value: growth,
          shown: `${growth.toFixed(0)} MiB`,
          subject: `+${growths.map((one) => one.toFixed(0)).join(', ')} MiB`,
          goal: { bound: 'at most', first: 64, aim: 32, unit: ' MiB' },
          details: { growths },
        });
      }
      findings.push(
        ...(await importFindings(child, { rounds, rows, parquetOf: (space) => parquetOf(child, space) })),
      );
    } finally {
      await child.stop();
    }
    return findings;
  },
};
