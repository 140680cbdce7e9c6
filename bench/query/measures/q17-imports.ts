import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from '../../upload/harness/child-process.ts';
import { median } from '../../upload/harness/median.ts';
import { cpuSeconds } from '../../upload/harness/process-usage.ts';
import { progress } from '../../upload/harness/progress.ts';
import {
  makeTemporaryDirectory,
  removeTemporaryDirectory,
} from '../../upload/harness/temporary-directory.ts';
import type { Finding } from '../../upload/measures/measure.ts';
import { authorization, structureOf } from '../direct-store.ts';
import { startEngine } from './query-bench.ts';

interface Imports {
  readonly rounds: number;
  readonly rows: number;
  /** An export of a space. */
  parquetOf(space: string): Promise<Blob>;
}

interface Rate {
  readonly perSecond: number;
  /** Of all threads of the process, a record. */
  readonly cpuMicroseconds: number;
}

/** How many records a second does an import store, against the engine's own INSERT of the same file? */
export async function importFindings(child: Child, imports: Imports): Promise<Finding[]> {
  const folder = makeTemporaryDirectory();
  const engine = await startEngine(imports.rows);
  try {
    const csv = csvOf(imports.rows);
    const ofText = { file: csv, name: 'CSV', type: 'text/csv', format: 'CSVWithNames', first: 0.5, aim: 0.7 };
    const sides = { child, engine, folder };
    const findings = [await imported(sides, ofText, imports)];
    const file = await imports.parquetOf('csv-1');
    const ofColumns = { file, name: 'Parquet', type: 'application/vnd.apache.parquet', format: 'Parquet' };
    return [...findings, await imported(sides, { ...ofColumns, first: 0.4, aim: 0.6 }, imports)];
  } finally {
    await engine.stop();
    removeTemporaryDirectory(folder);
  }
}

async function imported(
  { child, engine, folder }: { readonly child: Child; readonly engine: Child; readonly folder: string },
  wanted: {
    readonly file: Blob;
    readonly name: string;
    readonly type: string;
    readonly format: string;
    readonly first: number;
    readonly aim: number;
  },
  { rounds, rows }: Imports,
): Promise<Finding> {
  const { file, name, type, format, first, aim } = wanted;
  const path = join(folder, name);
  writeFileSync(path, Buffer.from(await file.arrayBuffer()));
  const ours: Rate[] = [];
  const theirs: Rate[] = [];
  for (let round = 1; round <= rounds; round++) {
    const space = `${name.toLowerCase()}-${round}`;
    ours.push(await rateOf(child, rows, () => importOf(child, file, space, type)));
    theirs.push(await rateOf(engine, rows, () => rawImport(engine, path, format)));
    const [own, raw] = [ours, theirs].map((all) => shown(all.slice(-1)));
    progress(`Q17: import of ${name}, round ${round} of ${rounds}: ${own}, and ${raw} by the engine`);
  }
  const value = rateIn(ours) / rateIn(theirs);
  return {
    measure: 'Q17',
    what: `import of ${name} with a unique field, ${rows} records`,
    value,
    shown: value.toFixed(2),
    subject: shown(ours),
    baseline: `INSERT FROM INFILE: ${shown(theirs)}`,
    problems: [],
    details: { ours, theirs, bytes: file.size },
    goal: { bound: 'at least', first, aim, unit: '' },
  };
}

function rateIn(rates: readonly Rate[]): number {
  return median(rates.map(({ perSecond }) => perSecond));
}

function shown(rates: readonly Rate[]): string {
  const cpu = median(rates.map(({ cpuMicroseconds }) => cpuMicroseconds));
  return `${Math.round(rateIn(rates))} records/s, ${cpu.toFixed(1)} µs of CPU each`;
}

async function rateOf(child: Child, rows: number, work: () => Promise<void>): Promise<Rate> {
  const before = cpuSeconds([child.pid]);
  const began = performance.now();
  await work();
  const seconds = (performance.now() - began) / 1000;
  return { perSecond: rows / seconds, cpuMicroseconds: ((cpuSeconds([child.pid]) - before) / rows) * 1e6 };
}

async function rawImport({ ready }: Child, path: string, format: string): Promise<void> {
  const body = JSON.stringify({ path, format });
  const answer = await fetch(`${ready}/raw-import`, { method: 'POST', body });
  if (!answer.ok) throw new Error(await answer.text());
}

/** Imports a file into a new space. */
async function importOf({ ready }: Child, file: Blob, space: string, type: string): Promise<void> {
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
    await sleep(50);
    const answer = await fetch(`${ready}/_jobs_/${id}`, { headers: { authorization } });
    const job = (await answer.json()) as { state: string; error: string | null };
    if (job.state === 'done') return;
    if (job.state === 'failed') throw new Error(job.error ?? 'the import failed');
  }
}

/** Lines of eight fields, 100 bytes each. */
function csvOf(rows: number): Blob {
  const pieces: string[] = ['name,email,age,score,isActive,city,country,notes\n'];
  for (let at = 0; at < rows; at++)
    pieces.push(
      `Person ${at},p${at}@example.com,${at % 90},${(at * 7919) % 1000}.5,${at % 2 === 0},Town ${at % 500},c${at % 50},"some words, and ${at}"\n`,
    );
  // in one piece: fetch sends each piece of a Blob by itself, which took three times as long as the import
  return new Blob([pieces.join('')]);
}
