/**
 * `npm test -- [NAME...] [FILE...]`: suites of test/suites.ts, or files; without either the suite `default`. Files are
 * built at once (test/build.ts), and run in processes of their own, a few at a time. What failed is printed; the report
 * holds all, as TAP. Options: --jobs=2 --timeout=600 --reporter-file=FILE --cpu, which prints the seconds of CPU of each
 * file and of the processes that it started, on Linux.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildTests } from './build.ts';
import { type Outcome, outcomeOf } from './services/test-outcome.ts';
import { filesOf, type Suite, suites } from './suites.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    jobs: { type: 'string' },
    /** Seconds. */
    timeout: { type: 'string' },
    'reporter-file': { type: 'string' },
    cpu: { type: 'boolean' },
    // there is one form of report; the flag is tap's
    reporter: { type: 'string' },
  },
});
const report = values['reporter-file'] === undefined ? undefined : createWriteStream(values['reporter-file']);
const runner = join(import.meta.dirname, 'run-files.mjs');
const outcomes: Outcome[] = [];
const cpu: { readonly seconds: number; readonly file: string }[] = [];
const asked = new Set<string>();
const running = new Set<Promise<void>>();
let count = 0;
const began = performance.now();
const chosenSuites = chosen(positionals);
const built = await buildTests([...new Set(chosenSuites.flatMap(([, suite]) => filesOf(suite)))]);
const begun: Promise<void>[] = [];
for (const [name, suite] of chosenSuites) {
  if (chosenSuites.length > 1) console.log(`== ${name}, after ${secondsSince(began)} s`);
  try {
    begun.push((await beginSuite(suite)).ended);
  } catch (error) {
    // the others have nothing to do with it
    console.log(`not ok - ${name}: ${String(error)}`);
    outcomes.push({ passed: 0, failed: 1 });
  }
}
await Promise.all(begun);
const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0);
const failed = outcomes.reduce((sum, outcome) => sum + outcome.failed, 0);
console.log(`${count} files in ${secondsSince(began)} s: ${passed} passed, ${failed} failed`);
if (values.cpu) printCpu();
report?.end();
process.exitCode = failed > 0 ? 1 : 0;

function chosen(names: readonly string[]): [name: string, suite: Suite][] {
  if (names.length === 0) return [['default', suites.default as Suite]];
  const files = names.filter((name) => !Object.hasOwn(suites, name));
  const missing = files.find((file) => !existsSync(file));
  if (missing !== undefined) {
    throw new Error(`there is no suite and no file ${missing}; suites: ${Object.keys(suites).join(', ')}`);
  }
  const named = names.filter((name) => !files.includes(name));
  const all = named.map((name): [string, Suite] => [name, suites[name] as Suite]);
  return files.length === 0 ? all : [...all, ['files', { files, jobs: 2 }]];
}

/** Begins the processes of a suite, each as soon as there is room for it; those of earlier suites may still run. */
async function beginSuite({ env, install, s3, ...suite }: Suite): Promise<{ readonly ended: Promise<void> }> {
  if (install !== undefined && !isInstalled(install)) await installIn(install);
  // loaded only where there is a server to start
  const server = s3 && (await (await import('./services/start-s3-server.ts')).startS3Server(s3));
  if (server === null) return { ended: Promise.resolve() };
  // what an earlier suite ran in the same way
  const files = filesOf(suite).filter((file) => env !== undefined || s3 !== undefined || !asked.has(file));
  for (const file of files) asked.add(file);
  const jobs = Number(values.jobs ?? suite.jobs);
  const run = {
    env: { ...process.env, ...env, ...server?.env, ...(values.cpu && { SLUICE_TEST_CPU: '1' }) },
    timeout: Number(values.timeout ?? suite.timeout ?? 600),
  };
  const begun: Promise<void>[] = [];
  for (const together of processesOf(files, jobs)) {
    while (running.size >= jobs) await Promise.race(running);
    const ended = runFiles(together, run).then((outcome) => {
      outcomes.push(outcome);
      running.delete(ended);
    });
    running.add(ended);
    begun.push(ended);
  }
  return { ended: Promise.all(begun).then(() => server?.stop()) };
}

async function installIn(folder: string): Promise<void> {
  const args = ['ci', '--prefix', folder, '--no-audit', '--no-fund'];
  const [status] = (await once(spawn('npm', args, { stdio: 'inherit' }), 'exit')) as [number | null];
  if (status !== 0) throw new Error(`npm ci --prefix ${folder} failed`);
}

/** By the lock file that npm leaves in node_modules. */
function isInstalled(folder: string): boolean {
  const [found, wanted] = ['node_modules/.package-lock.json', 'package-lock.json'].map((name) =>
    statSync(join(folder, name), { throwIfNoEntry: false }),
  );
  return (found?.mtimeMs ?? 0) > (wanted?.mtimeMs ?? 0);
}

/** Files that share a process: most take less time than its start. Whole servers, and full suites, have one each. */
function processesOf(files: readonly string[], jobs: number): (readonly string[])[] {
  const share = (folder: string, most: number): (readonly string[])[] => {
    const inFolder = files.filter((file) => file.startsWith(folder) && file.endsWith('.test.ts'));
    // more than one for each job: some take longer
    const together = Math.min(most, Math.ceil(inFolder.length / (2 * jobs)));
    return Array.from({ length: Math.ceil(inFolder.length / together) }, (_, index) =>
      inFolder.slice(index * together, (index + 1) * together),
    );
  };
  const shared = [...share('test/integration/', 8), ...share('test/unit/', 18)];
  const together = new Set(shared.flat());
  // the short ones at the end fill what the others leave
  return [...files.filter((file) => !together.has(file)).map((file) => [file]), ...shared];
}

/** @param timeout of a file, in seconds */
async function runFiles(
  files: readonly string[],
  { env, timeout }: { readonly env: NodeJS.ProcessEnv; readonly timeout: number },
): Promise<Outcome> {
  count += files.length;
  const start = performance.now();
  const shared = files.length > 1;
  const name = shared ? `${files[0]} and ${files.length - 1} others, to ${files.at(-1)}` : files[0];
  const child = spawn(process.execPath, ['--enable-source-maps', runner, join(built, 'tests'), ...files], {
    env: { ...env, SLUICE_TEST_BUILT: built, TAP_TIMEOUT: String(timeout) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stopWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', stopWithUs);
  // tap ends a file that takes too long; this ends one that hangs
  const late = setTimeout(stopWithUs, (timeout + 60) * 1000);
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  const [status] = (await once(child, 'close')) as [number | null];
  clearTimeout(late);
  process.off('exit', stopWithUs);
  const output = Buffer.concat(chunks).toString();
  const { passed, failed } = outcomeOf(status, output);
  for (const [, seconds, file = ''] of output.matchAll(/^# cpu=(\S+) (\S+)$/gm))
    cpu.push({ seconds: Number(seconds), file });
  const good = failed === 0;
  const line = `${good ? 'ok' : 'not ok'} ${outcomes.length + 1} - ${name} # time=${secondsSince(start)}s`;
  report?.write(`# Subtest: ${name}\n${output.replace(/^/gm, '    ')}\n${line}\n`);
  const skipped = output.match(/NOT TESTED.*/g) ?? [];
  console.log(good ? [...skipped, line].join('\n') : `${output}\n${line}`);
  return { passed, failed };
}

function printCpu(): void {
  cpu.sort((one, other) => other.seconds - one.seconds);
  for (const { seconds, file } of cpu) console.log(`${seconds.toFixed(1).padStart(7)} s of CPU: ${file}`);
  console.log(
    `${cpu
      .reduce((sum, { seconds }) => sum + seconds, 0)
      .toFixed(1)
      .padStart(7)} s of CPU in all`,
  );
}

function secondsSince(start: number): string {
  return ((performance.now() - start) / 1000).toFixed(1);
}
