import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Finding } from '../measures/measure.ts';
import { repositoryRoot } from './child-process.ts';
import { describeMachine, machineLine } from './machine.ts';
import { progress } from './progress.ts';
import { renderTable } from './table.ts';

/** Runs measures one after the other, and continues if one fails. */
export async function runMeasures(
  measures: readonly { readonly id: string; run(): Promise<Finding[]> }[],
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { id, run } of measures) {
    progress(`${id} begins`);
    try {
      findings.push(...(await run()));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      progress(`${id} failed: ${message}`);
      const nothing = { subject: '', baseline: '', goal: null, value: null, shown: '-' };
      findings.push({ measure: id, what: 'failed', ...nothing, problems: [message] });
    }
  }
  return findings;
}

/** The results of a run. `tables` precede the table of findings. */
export interface Run {
  readonly findings: readonly Finding[];
  readonly tables?: readonly string[];
  readonly [detail: string]: unknown;
}

/**
 * Runs a benchmark, prints its tables on standard output, writes the underlying data to bench/results, and exits, which
 * ends all children. @param work throws if it cannot run
 */
export function report(name: string, usage: string, work: () => Promise<Run>): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => process.exit(130));
  const run = async (): Promise<void> => {
    if (process.platform !== 'linux')
      throw new Error('CPU time and memory are read from /proc: Linux is needed');
    const machine = describeMachine();
    progress(machineLine(machine));
    const begun = new Date();
    const { tables = [], ...found } = await work();
    const { findings } = found;
    const command = `npm run bench -- ${[name, ...process.argv.slice(2)].join(' ')}`;
    const folder = join(repositoryRoot, 'bench/results');
    await mkdir(folder, { recursive: true });
    const file = join(folder, `${name}-${begun.toISOString().replace(/[:.]/g, '-')}.json`);
    const result = { begun, ended: new Date(), command, machine, ...found };
    await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
    const shown = [...tables, ...(findings.length === 0 ? [] : [renderTable(findings)])];
    const details = `${machineLine(machine)}\n${command}; details: ${relative(repositoryRoot, file)}\n`;
    process.stdout.write([...shown, details].join('\n\n'));
    if (findings.some(({ problems }) => problems.length > 0)) process.exitCode = 1;
  };
  run().then(
    // the sink's channel would keep the process alive
    () => process.exit(),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
      process.exit(1);
    },
  );
}
