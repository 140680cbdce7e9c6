/**
 * Question: how many record operations a second does one process answer, over its embedded engine, with authentication
 * and durability on? `npm run bench:query -- [--rows N] [--seconds N] [--only KIND,KIND] [--rounds N] [--root FOLDER]`
 *
 * Load and service share the machine, as in the comparison of peers in docs/performance.md. Figures are medians of the
 * rounds. `--root` measures another checkout with the same load, in the same run if it is given twice.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { type Child, repositoryRoot, startChild } from '../upload/harness/child-process.ts';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { median } from '../upload/harness/median.ts';
import { progress } from '../upload/harness/progress.ts';
import type { LoadJob, LoadResult } from './load.ts';
import { type RequestKind, recordOf, structureOf } from './requests.ts';

const token = 'benchmark-token-0123456789';
const authorization = `Bearer ${token}`;
/** What is measured, with how many connections. */
const kinds: readonly (readonly [RequestKind, number])[] = [
  ['health', 64],
  ['find', 64],
  ['findOneRepeated', 64],
  ['findOneDistinct', 64],
  ['insertOne', 64],
  ['updateOneById', 64],
  ['mixed', 64],
  ['insert5000', 4],
  ['insertOnePlain', 64],
  ['insertOne64Spaces', 64],
  ['insertOne512Spaces', 64],
  ['findOne512Spaces', 64],
];

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '1' },
    only: { type: 'string' },
    root: { type: 'string', multiple: true, default: [repositoryRoot] },
    env: { type: 'string', multiple: true, default: [] },
  },
});

interface Subject {
  readonly name: string;
  readonly child: Child;
  readonly folder: string;
  readonly ids: readonly string[];
}

async function start(root: string): Promise<Subject> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  const child = await startChild({
    command: 'sh',
    args: ['-c', `cd "${root}" && exec "${process.execPath}" --import tsx main.ts`],
    env: {
      UV_THREADPOOL_SIZE: '16',
      PORT: '0',
      DATA_DIR: join(folder, 'data'),
      BOOTSTRAP_TOKEN: token,
      LOG_LEVEL: 'error',
      ...Object.fromEntries(options.env.map((pair) => pair.split('=') as [string, string])),
    },
    ready: /^Sluice listens on (\S+)$/m,
  });
  const ids = await fill(child.ready, Number(options.rows));
  return { name: root, child, folder, ids };
}

/** Stores the records that reads ask for. @returns ids of some of them */
async function fill(url: string, rows: number): Promise<readonly string[]> {
  const ids: string[] = [];
  const size = 5000;
  for (let from = 0; from < rows; from += size) {
    const records = Array.from({ length: Math.min(size, rows - from) }, (_, index) => recordOf(from + index));
    const answer = await fetch(`${url}/bench/people`, {
      method: 'POST',
      headers: { authorization, structure: structureOf('people'), 'content-type': 'application/json' },
      body: JSON.stringify(records),
    });
    if (answer.status !== 200) throw new Error(`filling: ${answer.status} ${await answer.text()}`);
    const stored = (await answer.json()) as { id: string }[];
    if (ids.length < 20_000) ids.push(...stored.map(({ id }) => id));
  }
  return ids;
}

let numbers = 10_000_000;

async function load(subject: Subject, kind: RequestKind, connections: number): Promise<LoadResult> {
  numbers += 1_000_000;
  const job: LoadJob = {
    url: subject.child.ready,
    connections,
    seconds: Number(options.seconds),
    // arrays count in thousands
    from: kind === 'insert5000' ? numbers / 1000 : numbers,
    kind,
    authorization,
    ...(kind === 'updateOneById' ? { ids: subject.ids } : {}),
  };
  const child = spawn(process.execPath, ['--import', 'tsx', join(import.meta.dirname, 'load.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const gone = once(child, 'close');
  child.stdin.end(JSON.stringify(job));
  const printed = await text(child.stdout);
  await gone;
  return JSON.parse(printed) as LoadResult;
}

/** Spaces exist before they are measured: a first insert has a measure of its own. */
async function makeSpaces(url: string): Promise<{ first: number[]; later: number[] }> {
  const insert = async (slug: string): Promise<number> => {
    const began = performance.now();
    const answer = await fetch(`${url}/bench/${slug}/_single_`, {
      method: 'POST',
      headers: { authorization, structure: structureOf(slug), 'content-type': 'application/json' },
      body: JSON.stringify(recordOf(1)),
    });
    await answer.text();
    if (answer.status !== 200) throw new Error(`making ${slug}: ${answer.status}`);
    return performance.now() - began;
  };
  await insert('plain');
  const first: number[] = [];
  const later: number[] = [];
  for (let index = 0; index < 512; index++) {
    first.push(await insert(`plain-${index}`));
    if (index % 8 === 0) later.push(await insert(`plain-${index}`));
  }
  return { first, later };
}

async function memory({ child }: Subject): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024);
}

async function main(): Promise<void> {
  const machine = describeMachine();
  progress(machineLine(machine));
  const only = options.only?.split(',');
  const chosen = kinds.filter(([kind]) => only === undefined || only.includes(kind));
  const subjects: Subject[] = [];
  for (const root of options.root) {
    progress(`${root}: ${options.rows} records are stored`);
    subjects.push(await start(root));
  }
  const rows: string[] = [];
  const results: Record<string, unknown>[] = [];
  if (chosen.some(([kind]) => kind.includes('Spaces'))) {
    for (const subject of subjects) {
      const { first, later } = await makeSpaces(subject.child.ready);
      rows.push(
        `| first insert into a space, ms | ${subject.name} | ${median(first).toFixed(1)} | later ${median(later).toFixed(1)} | | |`,
      );
    }
  }
  for (const [kind, connections] of chosen) {
    const runs = new Map<Subject, LoadResult[]>(subjects.map((subject) => [subject, []]));
    for (let round = 0; round < Number(options.rounds); round++) {
      for (const subject of subjects) {
        progress(`${kind}, round ${round + 1}: ${subject.name}`);
        runs.get(subject)?.push(await load(subject, kind, connections));
      }
    }
    for (const subject of subjects) {
      const all = runs.get(subject) ?? [];
      const bad = all.reduce((sum, result) => sum + result.bad, 0);
      const rate = median(all.map(({ perSecond }) => perSecond));
      const p99 = median(all.map((result) => result.p99));
      rows.push(
        `| ${kind} | ${subject.name} | ${Math.round(rate)} | ${p99} | ${bad} | ${await memory(subject)} |`,
      );
      results.push({ kind, subject: subject.name, connections, all, bad });
    }
  }
  const head = ['| requests | subject | a second | p99 ms | not 2xx | RSS MB |', '|---|---|---|---|---|---|'];
  const command = `npm run bench:query -- ${process.argv.slice(2).join(' ')}`;
  process.stdout.write(`${[...head, ...rows, '', machineLine(machine), command].join('\n')}\n`);
  const folder = join(repositoryRoot, 'bench/results');
  await mkdir(folder, { recursive: true });
  const file = join(folder, `query-${Date.now()}.json`);
  await writeFile(file, JSON.stringify({ machine, command, results }, null, 2));
  for (const { child, folder: data } of subjects) {
    await child.stop();
    await rm(data, { recursive: true, force: true });
  }
}

await main();
