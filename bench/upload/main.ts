import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { repositoryRoot } from './harness/child-process.ts';
import { describeMachine, machineLine } from './harness/machine.ts';
import { progress } from './harness/progress.ts';
import { renderTable } from './harness/table.ts';
import type { Finding, Measure } from './measures/measure.ts';
import { u1 } from './measures/u1-cpu-against-usual-way.ts';
import { u2 } from './measures/u2-cpu-against-nginx.ts';
import { u3 } from './measures/u3-memory-of-one-large-file.ts';
import { u4 } from './measures/u4-many-at-once.ts';
import { u5 } from './measures/u5-slow-beside-fast.ts';
import { u6 } from './measures/u6-small-files.ts';
import { u7 } from './measures/u7-too-large.ts';
import { u8 } from './measures/u8-round-trips.ts';
import { u9 } from './measures/u9-slow-store.ts';
import { u10 } from './measures/u10-small-downloads.ts';
import { u11 } from './measures/u11-tus-against-form.ts';
import { u12 } from './measures/u12-stalled-uploads.ts';
import { u13 } from './measures/u13-silent-uploads.ts';
import { u14 } from './measures/u14-digest.ts';
import { readOptions, usage } from './options.ts';
import { startSink } from './sink/start-sink.ts';

const measures: readonly Measure[] = [u1, u2, u3, u4, u5, u6, u7, u8, u9, u10, u11, u12, u13, u14];
const resultsDirectory = join(repositoryRoot, 'bench/results');

/** Measures the upload gateway: the table on standard output, everything behind it as JSON in bench/results. */
async function main(): Promise<void> {
  if (process.platform !== 'linux')
    throw new Error('CPU time and memory are read from /proc: Linux is needed');
  const options = readOptions(
    process.argv.slice(2),
    measures.map(({ id }) => id),
  );
  const machine = describeMachine();
  progress(machineLine(machine));
  const sink = await startSink();
  const begun = new Date();
  const findings: Finding[] = [];
  for (const { id, run } of measures.filter((measure) => options.only.includes(measure.id))) {
    progress(`${id} begins`);
    try {
      await sink.forget();
      findings.push(...(await run({ ...options, sink })));
    } catch (error) {
      // the other measures are still worth having
      findings.push(failed(id, error));
    }
  }
  const command = `npm run bench -- ${['upload', ...process.argv.slice(2)].join(' ')}`;
  const file = await save({
    begun,
    ended: new Date(),
    command,
    machine,
    store: options.store,
    options,
    findings,
  });
  process.stdout.write(
    [
      ...(options.quick ? ['--quick: small sizes, these figures say nothing about speed', ''] : []),
      // small sizes neither meet a goal nor miss it
      renderTable(options.quick ? findings.map((finding) => ({ ...finding, goal: null })) : findings),
      '',
      machineLine(machine),
      `${command}; details: ${relative(repositoryRoot, file)}`,
      '',
    ].join('\n'),
  );
  if (findings.some(({ problems }) => problems.length > 0)) process.exitCode = 1;
}

function failed(id: string, error: unknown): Finding {
  const message = error instanceof Error ? error.message : String(error);
  progress(`${id} failed: ${message}`);
  return {
    measure: id,
    what: 'failed',
    subject: '',
    baseline: '',
    goal: null,
    value: null,
    shown: '-',
    problems: [message],
  };
}

async function save(result: { begun: Date } & Record<string, unknown>): Promise<string> {
  await mkdir(resultsDirectory, { recursive: true });
  const stamp = result.begun.toISOString().replace(/[:.]/g, '-');
  const file = join(resultsDirectory, `upload-${stamp}.json`);
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
  return file;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  // what was started ends with this process: see harness/child-process.ts
  process.once(signal, () => process.exit(130));
}

main().then(
  // the sink's channel would keep the process alive
  () => process.exit(),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    process.exit(1);
  },
);
