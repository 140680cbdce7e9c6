import { join } from 'node:path';
import { type Child, startScript } from '../../upload/harness/child-process.ts';
import { type Sample, sampleOf } from '../../upload/harness/median.ts';
import { cpuSeconds, threadUsage } from '../../upload/harness/process-usage.ts';
import { progress } from '../../upload/harness/progress.ts';
import { makeTemporaryDirectory } from '../../upload/harness/temporary-directory.ts';
import type { Finding } from '../../upload/measures/measure.ts';
import { authorization } from '../direct-store.ts';
import type { RequestKind } from '../requests.ts';
import { type LoadResult, runLoad } from '../run-load.ts';
import { makeSluiceStore, type SluiceStore } from '../subject/sluice-store.ts';

/** What a measure may use. */
export interface QueryBench {
  /** Records of the space, unless a measure says otherwise. */
  readonly rows: number;
  readonly rounds: number;
  /** Duration of a round. */
  readonly seconds: number;
  /** Only one line of each measure. */
  readonly brief?: boolean;
  /** A store of the run, created on first use. @param of those measures that make it grow; absent: of all others */
  store(rows: number, of?: string): Promise<SluiceStore>;
}

export interface QueryMeasure {
  readonly id: string;
  /** Only runs with --only. */
  readonly long?: boolean;
  readonly run: (bench: QueryBench) => Promise<Finding[]>;
}

export const connections = 64;
export const cacheOff = { RECORD_CACHE_BYTES: '0' };

/** @param close removes the stores */
export function createQueryBench(options: {
  readonly rows: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly brief?: boolean;
}): QueryBench & { close(): Promise<void> } {
  const stores = new Map<string, Promise<SluiceStore>>();
  return {
    ...options,
    store(rows, of = '') {
      const name = `${of}${rows}`;
      const store = stores.get(name) ?? makeSluiceStore(rows);
      stores.set(name, store);
      return store;
    },
    async close() {
      for (const store of stores.values()) {
        await store.then(
          (made) => made.remove(),
          () => {},
        );
      }
    },
  };
}

export function startBare(): Promise<Child> {
  return startScript('bench/query/baselines/bare.ts', { ready: /^baseline listens on (\S+)$/m });
}

let engineFolder: string | null = null;

/** One statement per request, on a separate table with this many rows. @param of as of a store */
export function startEngine(rows: number, of = ''): Promise<Child> {
  engineFolder ??= makeTemporaryDirectory();
  return startEngineOn(join(engineFolder, `${of}${rows}`), rows);
}

/** Only the engine, on existing tables. */
export function startEngineOn(path: string, rows = 0): Promise<Child> {
  return startScript('bench/query/baselines/engine.ts', {
    env: { UV_THREADPOOL_SIZE: '16', ENGINE_PATH: path, ENGINE_ROWS: String(rows) },
    ready: /^baseline listens on (\S+)$/m,
  });
}

/** Each run of a load starts at numbers that no earlier run has used. */
let numbers = 100_000_000;

export interface Load {
  readonly kind: RequestKind;
  readonly seconds?: number;
  readonly connections?: number;
  readonly amount?: number;
  readonly from?: number;
  readonly ids?: readonly string[];
}

/** The result of a load, with the CPU time of all threads of the server. */
export interface LoadFigures extends LoadResult {
  readonly cpuMicroseconds: number;
  /** Only of the thread that runs JavaScript, which other work on the machine affects least. */
  readonly mainMicroseconds: number;
}

export async function load(child: Child, job: Load): Promise<LoadFigures> {
  numbers += 1_000_000;
  // arrays count in thousands
  const from = job.kind === 'insert1000' || job.kind === 'insert5000' ? numbers / 1000 : numbers;
  const before = cpuSeconds([child.pid]);
  const { main } = threadUsage(child.pid);
  const result = await runLoad({ url: child.ready, connections, authorization, from, ...job });
  const cpu = cpuSeconds([child.pid]) - before;
  const ofMain = threadUsage(child.pid).main - main;
  const each = 1e6 / Math.max(1, result.good);
  return { ...result, cpuMicroseconds: cpu * each, mainMicroseconds: ofMain * each };
}

interface Contender {
  readonly name: string;
  readonly child: Child;
  readonly job: (round: number) => Load;
}

interface ContenderFigures {
  readonly name: string;
  readonly perSecond: Sample;
  readonly p50: Sample;
  readonly p99: Sample;
  readonly cpuMicroseconds: Sample;
  readonly problems: readonly string[];
}

/** Runs two loads in turns, A B A B, so that other work on the machine affects both. Round 0 warms up. */
export async function compare(
  id: string,
  rounds: number,
  sides: readonly [Contender, Contender],
): Promise<[ContenderFigures, ContenderFigures]> {
  const runs: [LoadFigures[], LoadFigures[]] = [[], []];
  for (let round = 0; round <= rounds; round++) {
    for (const [index, { name, child, job }] of sides.entries()) {
      const { seconds = 2, ...wanted } = job(round);
      const result = await load(child, { ...wanted, seconds: round === 0 ? Math.min(2, seconds) : seconds });
      progress(
        `${id}: ${round === 0 ? 'warming up' : `round ${round} of ${rounds}`}, ${name}: ${Math.round(result.perSecond)}/s`,
      );
      if (round > 0) runs[index]?.push(result);
    }
  }
  return [summary(sides[0].name, runs[0]), summary(sides[1].name, runs[1])];
}

function summary(name: string, all: readonly LoadFigures[]): ContenderFigures {
  const bad = all.reduce((sum, result) => sum + result.bad, 0);
  return {
    name,
    perSecond: sampleOf(all.map(({ perSecond }) => perSecond)),
    p50: sampleOf(all.map(({ p50 }) => p50)),
    p99: sampleOf(all.map(({ p99 }) => p99)),
    cpuMicroseconds: sampleOf(all.map(({ cpuMicroseconds }) => cpuMicroseconds)),
    problems: bad === 0 ? [] : [`${name}: ${bad} answers that are not 200`],
  };
}

function showRate({ name, perSecond, p99 }: ContenderFigures): string {
  return `${name}: ${Math.round(perSecond.median)}/s, p99 ${Math.round(p99.median)} ms`;
}

/** A finding whose value is the ratio of the first rate to the second. */
export function rateFinding(
  measure: string,
  what: string,
  [subject, baseline]: readonly [ContenderFigures, ContenderFigures],
  goal: Finding['goal'],
): Finding {
  const value = subject.perSecond.median / baseline.perSecond.median;
  return {
    measure,
    what,
    goal,
    value,
    subject: showRate(subject),
    baseline: showRate(baseline),
    shown: `${value.toFixed(value < 3 ? 2 : 1)}${goal?.unit ?? ''}`,
    problems: [...subject.problems, ...baseline.problems],
    details: { subject, baseline },
  };
}
