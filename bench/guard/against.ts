import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type Kind, type KindResult, kinds, runKinds } from '../query/kinds.ts';
import { repositoryRoot } from '../upload/harness/child-process.ts';
import { median } from '../upload/harness/median.ts';
import { progress } from '../upload/harness/progress.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../upload/harness/temporary-directory.ts';

/** Requests by kind: Q1, Q2, Q5, Q10 and Q12 to Q14. */
const names = [
  'find',
  'findOneRepeated',
  'findOneDistinct',
  'findByTwo',
  'findByTwoMixed',
  'page',
  'pageMixed',
  'insertOne',
  'updateOneById',
];
const chosen: readonly Kind[] = kinds.filter(({ kind }) => names.includes(kind));

/** CPU time of one process for a request, by kind. */
export interface CostLine {
  readonly kind: string;
  readonly cache: string;
  /** Microseconds of all threads. */
  readonly before: number;
  readonly now: number;
  /** The ratio of each round: other work on the machine affects both sides of a round. */
  readonly ratio: number;
}

/** Runs another commit and this checkout in turns. Throws an Error if an answer was not 200. */
export async function compareWithCommit(
  commit: string,
  options: { readonly rounds: number; readonly seconds: number; readonly rows: number },
): Promise<readonly CostLine[]> {
  const folder = makeTemporaryDirectory();
  try {
    checkOut(commit, folder);
    const { results } = await runKinds({ ...options, chosen, roots: [folder, repositoryRoot], env: {} });
    return linesOf(results, folder);
  } finally {
    removeTemporaryDirectory(folder);
  }
}

function checkOut(commit: string, folder: string): void {
  progress(`${commit} is made ready`);
  run(`git archive ${JSON.stringify(commit)} | tar -x -C ${JSON.stringify(folder)}`, repositoryRoot);
  const lockOf = (root: string): string => readFileSync(join(root, 'package-lock.json'), 'utf8');
  const modules = join(repositoryRoot, 'node_modules');
  if (existsSync(modules) && lockOf(folder) === lockOf(repositoryRoot)) {
    symlinkSync(modules, join(folder, 'node_modules'));
  } else run('npm ci --no-audit --no-fund', folder);
}

function run(command: string, cwd: string): void {
  const { status, stderr } = spawnSync('bash', ['-o', 'pipefail', '-c', command], { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command}: ${stderr}`);
}

function linesOf(results: readonly KindResult[], before: string): CostLine[] {
  const bad = results.find((result) => result.bad > 0);
  if (bad !== undefined) throw new Error(`${bad.kind}, ${bad.subject}: ${bad.bad} answers were not 200`);
  return results
    .filter(({ subject }) => subject === before)
    .map((old, index) => {
      const here = results.filter(({ subject }) => subject !== before)[index] as KindResult;
      const cost = ({ measured }: KindResult): readonly number[] =>
        measured.map(({ cpuMicroseconds }) => cpuMicroseconds);
      const [then, now] = [cost(old), cost(here)];
      const ratio = median(now.map((value, round) => value / (then[round] as number)));
      return { kind: here.kind, cache: here.cache, before: median(then), now: median(now), ratio };
    });
}

export function renderCosts(lines: readonly CostLine[]): string {
  const rows = lines.map(
    ({ kind, cache, before, now, ratio }) =>
      `| ${kind} | ${cache} | ${before.toFixed(1)} | ${now.toFixed(1)} | ${ratio.toFixed(2)} |`,
  );
  return ['| requests | cache | before, us | now, us | ratio |', '|---|---|---|---|---|', ...rows].join('\n');
}
