import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { Profiler } from 'node:inspector';
import { join } from 'node:path';
import { formAround } from '#load/files/upload-form.ts';
import { startLibStorageOnUws, startUsualWay } from './baselines/start-baseline.ts';
import { mebibyte } from './harness/bytes.ts';
import { describeMachine, machineLine } from './harness/machine.ts';
import { progress } from './harness/progress.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from './harness/temporary-directory.ts';
import { topFunctions } from './harness/top-functions.ts';
import { findAutocannon, runAutocannon } from './load/run-autocannon.ts';
import { sendBurst } from './measures/send-burst.ts';
import { startSink } from './sink/start-sink.ts';
import { startSluice } from './subject/start-sluice.ts';
import type { ProcessSubject } from './subject/subject.ts';

/** `node --import tsx bench/upload/profile.ts`: where the main thread of each subject spends its time in U1 and U6. */
const preload = ['./bench/upload/subject/profile-cpu.ts'];
const functions = 10;
const smallFiles = { connections: 32, seconds: 6, size: 64 * 1024 };

type Answer =
  | { readonly type: 'started' }
  | { readonly type: 'profile'; readonly profile: Profiler.Profile }
  | { readonly type: 'failed'; readonly message: string };

async function ask({ child }: ProcessSubject, command: 'start' | 'stop'): Promise<Answer> {
  const answer = once(child.process, 'message');
  child.process.send?.(command);
  const [message] = (await answer) as [Answer];
  if (message.type === 'failed') throw new Error(message.message);
  return message;
}

/** Warms a subject up with the load, profiles it under the load, and prints the top functions. */
async function profile(subject: ProcessSubject, loadName: string, load: () => Promise<void>): Promise<void> {
  progress(`${subject.name}, ${loadName}: warming up`);
  await load();
  progress(`${subject.name}, ${loadName}: profiling`);
  await ask(subject, 'start');
  await load();
  const answer = await ask(subject, 'stop');
  if (answer.type !== 'profile') throw new Error('the subject answered no profile');
  const { top, idle } = topFunctions(answer.profile, functions);
  const rows = top.map(
    ({ name, share }, place) => `| ${place + 1} | ${(share * 100).toFixed(1)} % | ${name} |`,
  );
  const title = `${subject.name}, ${loadName}; the main thread was idle for ${Math.round(idle * 100)} %`;
  process.stdout.write(
    [`### ${title}`, '', '| | of its busy time | function |', '|---|---|---|', ...rows, '', ''].join('\n'),
  );
}

async function largeFiles(subject: ProcessSubject): Promise<void> {
  const { problems } = await sendBurst(subject, [
    { index: 1, size: 512 * mebibyte },
    { index: 2, size: 512 * mebibyte },
  ]);
  if (problems.length > 0) throw new Error(problems.join('; '));
}

async function small(subject: ProcessSubject, autocannon: string, bodyFile: string): Promise<void> {
  const result = await runAutocannon({ autocannon, bodyFile, target: subject.target, ...smallFiles });
  if (result.errors + result.non2xx + result.timeouts > 0)
    throw new Error(`${subject.name}: not every upload was stored`);
}

async function main(): Promise<void> {
  const machine = machineLine(describeMachine());
  progress(machine);
  const autocannon = findAutocannon();
  if (autocannon === null) throw new Error('autocannon is not installed: npm install');
  const sink = await startSink();
  const directory = makeTemporaryDirectory();
  const bodyFile = join(directory, 'body');
  const { head, tail } = formAround('small.txt');
  await writeFile(bodyFile, Buffer.concat([head, Buffer.alloc(smallFiles.size, 'a'), tail]));
  for (const start of [
    () => startUsualWay(sink, preload),
    () => startLibStorageOnUws(sink, preload),
    () => startSluice({ store: 's3', sink, preload }),
  ]) {
    const subject = await start();
    try {
      await profile(subject, 'files of 512 MiB', () => largeFiles(subject));
      await profile(subject, 'files of 64 KiB', () => small(subject, autocannon, bodyFile));
    } finally {
      await subject.stop();
    }
  }
  removeTemporaryDirectory(directory);
  process.stdout.write(`${machine}\nnode --import tsx bench/upload/profile.ts\n`);
}

main().then(
  // the sink's channel would keep the process alive
  () => process.exit(),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
