import { mebibyte } from '../upload/harness/bytes.ts';
import type { Child } from '../upload/harness/child-process.ts';
import { median } from '../upload/harness/median.ts';
import { residentBytes } from '../upload/harness/process-usage.ts';
import { progress } from '../upload/harness/progress.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../upload/harness/temporary-directory.ts';
import { insertOne, startService } from './direct-store.ts';
import { connections, type LoadFigures, load } from './measures/query-bench.ts';
import { distinct, type RequestKind, recordOf, structureOf } from './requests.ts';
import { fillSpace } from './subject/sluice-store.ts';

export interface Kind {
  readonly kind: RequestKind;
  /** The state of the cache for these requests. */
  readonly cache: string;
  readonly connections?: number;
}

/** In this order, so that `findOneDistinct` is first cold and then warm. */
export const kinds: readonly Kind[] = [
  { kind: 'health', cache: '-' },
  // finds never repeat, except for `find` and the 2,000 values with updates
  { kind: 'findByTwo', cache: 'each once (Q12)' },
  { kind: 'findByTwoMixed', cache: 'nine to one update (Q13)' },
  { kind: 'find', cache: 'repeated' },
  { kind: 'findOneRepeated', cache: 'warm' },
  { kind: 'findOneDistinct', cache: 'cold, then warm' },
  { kind: 'insertOne', cache: '-' },
  { kind: 'updateOneById', cache: '-' },
  { kind: 'mixed', cache: 'warm' },
  { kind: 'page', cache: '4,500 pages (Q14)' },
  { kind: 'pageMixed', cache: 'nine to one insert (Q14)' },
  { kind: 'between', cache: 'each once (FILTERS)' },
  { kind: 'betweenMixed', cache: 'nine to one update (FILTERS)' },
  { kind: 'startsWith', cache: '8,999 beginnings (FILTERS)' },
  { kind: 'inIds', cache: 'each once (FILTERS)', connections: 1 },
  { kind: 'increment', cache: 'one record' },
  { kind: 'insert5000', cache: '-', connections: 4 },
  { kind: 'insertOnePlain', cache: '-' },
  { kind: 'insertOne64Spaces', cache: '-' },
  { kind: 'insertOne512Spaces', cache: '-' },
  { kind: 'findOne512Spaces', cache: 'warm' },
];

export interface KindsOptions {
  readonly chosen: readonly Kind[];
  readonly roots: readonly string[];
  readonly rows: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly env: Readonly<Record<string, string>>;
}

interface Subject {
  readonly name: string;
  readonly root: string;
  readonly folder: string;
  readonly ids: readonly string[];
  child: Child;
}

async function start(root: string, { rows, env }: KindsOptions): Promise<Subject> {
  const folder = makeTemporaryDirectory();
  const child = await startService(folder, env, { root });
  const ids = await fillSpace(child.ready, rows);
  return { name: root, root, folder, ids, child };
}

/** Creates the spaces before the measurement: first inserts are measured separately. */
async function makeSpaces({ name, child }: Subject): Promise<string> {
  const insert = async (slug: string): Promise<number> => {
    const began = performance.now();
    await insertOne(child.ready, slug, { structure: structureOf(slug), values: recordOf(1) });
    return performance.now() - began;
  };
  await insert('plain');
  const first: number[] = [];
  const later: number[] = [];
  for (let index = 0; index < 512; index++) {
    first.push(await insert(`plain-${index}`));
    if (index % 8 === 0) later.push(await insert(`plain-${index}`));
  }
  return `| first insert into a space, ms | ${name} | - | ${median(first).toFixed(1)} | later ${median(later).toFixed(1)} | | | |`;
}

interface Run {
  readonly cache: string;
  readonly result: LoadFigures;
}

async function runKind(subject: Subject, wanted: Kind, options: KindsOptions): Promise<readonly Run[]> {
  const { kind, cache } = wanted;
  const { seconds, env } = options;
  const job = { kind, seconds, connections: wanted.connections ?? connections };
  if (kind !== 'findOneDistinct')
    return [{ cache, result: await load(subject.child, { ...job, ids: subject.ids }) }];
  // a fresh process, and then the same values again
  await subject.child.stop();
  subject.child = await startService(subject.folder, env, subject);
  const cold = await load(subject.child, { ...job, from: 0, amount: distinct });
  const asked = cold.good + cold.bad;
  const warm = await load(subject.child, { ...job, from: 0, amount: asked });
  return [
    { cache: `cold, first ${asked} values`, result: cold },
    { cache: 'warm, the same again', result: warm },
  ];
}

/** One kind of request on one checkout: a measurement of each round. */
export interface KindResult {
  readonly kind: string;
  readonly cache: string;
  readonly subject: string;
  readonly measured: readonly LoadFigures[];
  readonly bad: number;
}

/** Runs the loads of the comparison with peers, in turns if there are several checkouts. @returns lines of a table */
export async function runKinds(options: KindsOptions): Promise<{ lines: string[]; results: KindResult[] }> {
  const { chosen, roots, rows, rounds } = options;
  const lines = [
    '| requests | subject | cache | a second | main thread, us each | p99 ms | not 2xx | RSS MiB |',
    '|---|---|---|---|---|---|---|---|',
  ];
  const results: KindResult[] = [];
  const subjects: Subject[] = [];
  for (const root of roots) {
    progress(`${root}: ${rows} records are stored`);
    subjects.push(await start(root, options));
  }
  if (chosen.some(({ kind }) => kind.includes('Spaces'))) {
    for (const subject of subjects) lines.push(await makeSpaces(subject));
  }
  for (const wanted of chosen) {
    const runs = new Map(subjects.map((subject) => [subject, [] as (readonly Run[])[]]));
    for (let round = 0; round < rounds; round++) {
      for (const subject of subjects) {
        progress(`${wanted.kind}, round ${round + 1}: ${subject.name}`);
        runs.get(subject)?.push(await runKind(subject, wanted, options));
      }
    }
    for (const [subject, all] of runs) {
      const memory = Math.round(residentBytes([subject.child.pid]) / mebibyte);
      for (const [index, { cache }] of (all[0] ?? []).entries()) {
        const measured = all.flatMap((round) => round[index]?.result ?? []);
        const bad = measured.reduce((sum, result) => sum + result.bad, 0);
        const rate = median(measured.map(({ perSecond }) => perSecond));
        const main = median(measured.map(({ mainMicroseconds }) => mainMicroseconds));
        const p99 = median(measured.map((result) => result.p99));
        lines.push(
          `| ${wanted.kind} | ${subject.name} | ${cache} | ${Math.round(rate)} | ${main.toFixed(1)} | ${p99.toFixed(0)} | ${bad} | ${memory} |`,
        );
        results.push({ kind: wanted.kind, cache, subject: subject.name, measured, bad });
      }
    }
  }
  for (const { child, folder } of subjects) {
    await child.stop();
    removeTemporaryDirectory(folder);
  }
  return { lines, results };
}
