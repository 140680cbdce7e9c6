/**
 * Runs test files, each in a process of its own, a few at a time:
 *   node --import tsx test/run.ts [--jobs=2] [--timeout=600] [--reporter-file=FILE] FILE...
 * tap's own runner compiles each module that a file imports anew, which takes longer than most files do
 * (docs/decisions/030-tests.md). What failed is printed; the report holds all, as TAP.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { parseArgs } from 'node:util';
import { loadTypescript } from './services/load-typescript.ts';
import { type Outcome, outcomeOf } from './services/test-outcome.ts';

const { values, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    jobs: { type: 'string', default: '2' },
    /** Seconds. */
    timeout: { type: 'string', default: '600' },
    'reporter-file': { type: 'string' },
    // there is one form of report; the flag is tap's
    reporter: { type: 'string' },
  },
});
if (files.length === 0) throw new Error('which test files?');
const report = values['reporter-file'] === undefined ? undefined : createWriteStream(values['reporter-file']);
const waiting = [...files];
const outcomes: Outcome[] = [];
const began = performance.now();
await Promise.all(Array.from({ length: Number(values.jobs) }, work));
const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0);
const failed = outcomes.reduce((sum, outcome) => sum + outcome.failed, 0);
console.log(`${files.length} files in ${secondsSince(began)} s: ${passed} passed, ${failed} failed`);
report?.end();
process.exitCode = failed > 0 ? 1 : 0;

async function work(): Promise<void> {
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    outcomes.push(await runFile(file));
  }
}

async function runFile(file: string): Promise<Outcome> {
  const start = performance.now();
  const child = spawn(process.execPath, [...loadTypescript, file], {
    env: { ...process.env, TAP_TIMEOUT: values.timeout },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stopWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', stopWithUs);
  // tap ends a file that takes too long; this ends one that hangs
  const late = setTimeout(stopWithUs, (Number(values.timeout) + 60) * 1000);
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  const [status] = (await once(child, 'close')) as [number | null];
  clearTimeout(late);
  process.off('exit', stopWithUs);
  const output = Buffer.concat(chunks).toString();
  const { passed, failed } = outcomeOf(status, output);
  const good = failed === 0;
  const line = `${good ? 'ok' : 'not ok'} ${outcomes.length + 1} - ${file} # time=${secondsSince(start)}s`;
  report?.write(`# Subtest: ${file}\n${output.replace(/^/gm, '    ')}\n${line}\n`);
  console.log(good ? line : `${output}\n${line}`);
  return { passed, failed };
}

function secondsSince(start: number): string {
  return ((performance.now() - start) / 1000).toFixed(1);
}
