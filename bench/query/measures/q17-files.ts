import { setTimeout as sleep } from 'node:timers/promises';
import { mebibyte } from '../../upload/harness/bytes.ts';
import type { Child } from '../../upload/harness/child-process.ts';
import { median } from '../../upload/harness/median.ts';
import { watchMemory } from '../../upload/harness/memory-watch.ts';
import { residentBytes } from '../../upload/harness/process-usage.ts';
import { progress } from '../../upload/harness/progress.ts';
import type { Finding } from '../../upload/measures/measure.ts';
import { authorization, structureOf } from '../direct-store.ts';
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

/** Imports a file into a new space. @returns records a second */
async function importOf({ ready }: Child, file: Blob, space: string, type: string): Promise<number> {
  const fields = [
    { name: 'name', type: 'TEXT' },
    { name: 'email', type: 'TEXT', unique: true },
    ...['age', 'score'].map((name) => ({ name, type: 'NUMBER' })),
    { name: 'isActive', type: 'BOOLEAN' },
    ...['city', 'country', 'notes'].map((name) => ({ name, type: 'TEXT' })),
  ];
  const structure = JSON.parse(structureOf(space, fields)) as object;
  const send = async (path: string, body: string | Blob, type: string): Promise<{ id: string }> => {
    const headers = { authorization, 'content-type': type };
    const answer = await fetch(`${ready}/bench/${space}${path}`, { method: 'POST', headers, body });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { id: string };
  };
  await send('/set-structure', JSON.stringify(structure), 'application/json');
  const { id } = await send('/_import_', file, type);
  for (;;) {
    await sleep(100);
    const answer = await fetch(`${ready}/_jobs_/${id}`, { headers: { authorization } });
    const job = (await answer.json()) as { state: string; error: string | null; perSecond: number };
    if (job.state === 'done') return job.perSecond;
    if (job.state === 'failed') throw new Error(job.error ?? 'the import failed');
  }
}

interface ImportCase {
  readonly file: Blob;
  readonly name: string;
  readonly type: string;
  readonly rounds: number;
  readonly rows: number;
}

async function imported(child: Child, { file, name, type, rounds, rows }: ImportCase): Promise<Finding> {
  const rates: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    rates.push(await importOf(child, file, `${name.toLowerCase()}-${round}`, type));
    progress(`Q17: import of ${name}, round ${round} of ${rounds}: ${rates.at(-1)} records a second`);
  }
  const value = median(rates);
  return {
    measure: 'Q17',
    what: `import of ${name} with a unique field, ${rows} records`,
    value,
    shown: `${Math.round(value)}/s`,
    subject: `${rates.join(', ')}/s`,
    problems: [],
    baseline: `${(file.size / 1e6).toFixed(0)} MB`,
    details: { rates },
    // the goal is only for text
    goal: name === 'CSV' ? { bound: 'at least', first: 100_000, aim: 250_000, unit: '/s' } : null,
  };
}

/** Lines of eight fields, 100 bytes each. */
function csvOf(rows: number): Blob {
  const pieces: string[] = ['name,email,age,score,isActive,city,country,notes\n'];
  for (let at = 0; at < rows; at++)
    pieces.push(
      `Person ${at},p${at}@example.com,${at % 90},${(at * 7919) % 1000}.5,${at % 2 === 0},Town ${at % 500},c${at % 50},"some words, and ${at}"\n`,
    );
  return new Blob(pieces);
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
      const csv = csvOf(rows);
      findings.push(await imported(child, { file: csv, name: 'CSV', type: 'text/csv', rounds, rows }));
      const chunks = await chunksOf(await exportOf(child, 'parquet', 'csv-1'));
      const parquet = new Blob(chunks as Buffer[]);
      const type = 'application/vnd.apache.parquet';
      findings.push(await imported(child, { file: parquet, name: 'Parquet', type, rounds, rows }));
    } finally {
      await child.stop();
    }
    return findings;
  },
};
