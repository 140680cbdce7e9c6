/**
 * Question: has anything become a fifth slower? `npm run bench -- guard`, a minute and a half; `--write` makes the result
 * the new baseline. `--against COMMIT` runs that commit and this checkout in turns instead, five minutes, and prints
 * the CPU time per request by kind: a ratio hides a regression if its baseline got slower as well.
 *
 * Only ratios are compared, to baselines that run in the same minute, because absolute figures depend on the machine. A
 * worse figure is measured a second time before it counts.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { q1 } from '../query/measures/q1-cache-hit.ts';
import { q2 } from '../query/measures/q2-distinct.ts';
import { q5, q10 } from '../query/measures/q5-q10-writes.ts';
import { q6 } from '../query/measures/q6-arrays.ts';
import { createQueryBench, type QueryMeasure } from '../query/measures/query-bench.ts';
import { startUsualWay } from '../upload/baselines/start-baseline.ts';
import { repositoryRoot } from '../upload/harness/child-process.ts';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { progress } from '../upload/harness/progress.ts';
import { type CpuFigures, compareCpu, cpuRatio } from '../upload/measures/compare-cpu.ts';
import type { Bench, Finding } from '../upload/measures/measure.ts';
import { u6 } from '../upload/measures/u6-small-files.ts';
import { withSubjects } from '../upload/measures/with-subjects.ts';
import { startSink } from '../upload/sink/start-sink.ts';
import { startSluice } from '../upload/subject/start-sluice.ts';
import { compareWithCommit, renderCosts } from './against.ts';
import { betterOf, compareFigures, type Figure, renderComparisons, tolerance } from './compare-figures.ts';

const baselineFile = join(repositoryRoot, 'bench/baseline.json');
const rounds = 3;
const queryBench = createQueryBench({ rows: 60_000, rounds, seconds: 1, brief: true });
const queryMeasures: readonly QueryMeasure[] = [q1, q2, q5, q6, q10];

interface Baseline {
  readonly machine: string;
  readonly figures: readonly Figure[];
}

/** @throws an Error if something was stored or answered wrongly */
function figureOf({ measure, what, value, goal, problems }: Finding): Figure {
  if (problems.length > 0) throw new Error(`${measure}, ${what}: ${problems.join('; ')}`);
  if (value === null) throw new Error(`${measure}, ${what}: it could not be measured`);
  const better = goal?.bound === 'at least' ? 'higher' : 'lower';
  return { name: `${measure} ${what}`, value, better };
}

async function uploadCpu(bench: Bench): Promise<Finding[]> {
  return withSubjects([() => startSluice(bench), () => startUsualWay(bench.sink)], async (subjects) => {
    // with small files the resolution of /proc would be too coarse
    const { figures, problems } = await compareCpu('U1', { ...bench, quick: false }, subjects);
    const [sluice, usualWay] = figures as [CpuFigures, CpuFigures];
    const value = cpuRatio(sluice, usualWay);
    const goal = { bound: 'at most', first: 0.4, aim: 0.2, unit: '' } as const;
    const shown = value.toFixed(2);
    return [
      {
        measure: 'U1',
        what: 'CPU time per GiB',
        value,
        goal,
        problems,
        subject: '',
        baseline: '',
        shown,
      },
    ];
  });
}

/** All figures, by measure. */
async function jobs(): Promise<ReadonlyMap<string, () => Promise<Finding[]>>> {
  const bench: Bench = { sink: await startSink(), store: 's3', rounds, quick: true };
  return new Map([
    ['U1', () => uploadCpu(bench)],
    ['U6', () => u6.run(bench)],
    ...queryMeasures.map(({ id, run }) => [id, () => run(queryBench)] as const),
  ]);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      write: { type: 'boolean', default: false },
      against: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '2' },
      rows: { type: 'string', default: '100000' },
    },
  });
  const machine = machineLine(describeMachine());
  progress(machine);
  if (values.against !== undefined) {
    const [rounds, seconds, rows] = [values.rounds, values.seconds, values.rows].map(Number) as [
      number,
      number,
      number,
    ];
    const costs = await compareWithCommit(values.against, { rounds, seconds, rows });
    process.stdout.write(
      `${renderCosts(costs)}\n\n${machine}; before: ${values.against}; ${rounds} rounds of ${seconds} s\n`,
    );
    if (costs.some(({ ratio }) => ratio >= 1 + tolerance)) process.exitCode = 1;
    return;
  }
  const all = await jobs();
  let figures: Figure[] = [];
  for (const [id, run] of all) {
    progress(`${id} begins`);
    figures.push(...(await run()).map(figureOf));
  }
  if (values.write) {
    const baseline: Baseline = { machine, figures };
    await writeFile(baselineFile, `${JSON.stringify(baseline, null, 2)}\n`);
    process.stdout.write(`${renderComparisons(compareFigures([], figures))}\n\n${baselineFile} is written\n`);
    return;
  }
  const baseline = JSON.parse(await readFile(baselineFile, 'utf8')) as Baseline;
  const behind = compareFigures(baseline.figures, figures).filter(({ failed }) => failed);
  for (const id of new Set(behind.map(({ name }) => name.split(' ')[0] as string))) {
    progress(`${id} is behind: once more`);
    figures = betterOf(figures, ((await all.get(id)?.()) ?? []).map(figureOf));
  }
  const comparisons = compareFigures(baseline.figures, figures);
  process.stdout.write(
    `${renderComparisons(comparisons)}\n\nnow: ${machine}\nbaseline: ${baseline.machine}\n`,
  );
  if (comparisons.some(({ failed }) => failed)) process.exitCode = 1;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  // children end with this process
  process.once(signal, () => process.exit(130));
}

main()
  .catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  })
  .finally(async () => {
    await queryBench.close();
    // the sink's channel would keep the process alive
    process.exit();
  });
