/**
 * Question: can accounts that do their worst, all at once, hold up one that does no harm?
 * `npm run bench:hostile -- [--minutes N] [--only CASE,CASE] [--rows N]`; goals: none of its requests fails, its p99 stays under
 * 4x of alone, /healthz answers within 100 ms, and the process does not go on growing.
 *
 * One process of the service, one of all attackers, and this one is the client. It runs alone first, for a quarter of the time,
 * a minute at most. They share the machine, so attacks are as strong as it takes, and no stronger (cases.ts).
 */
import { parseArgs } from 'node:util';
import { startService } from '../query/direct-store.ts';
import { startScript } from '../upload/harness/child-process.ts';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { residentBytes } from '../upload/harness/process-usage.ts';
import { progress } from '../upload/harness/progress.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../upload/harness/temporary-directory.ts';
import { PoliteClient, type PoliteResult, politeRequests } from './polite-client.ts';
import { caseNames, prepareStage } from './prepare.ts';

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    only: { type: 'string' },
    /** Records that are read by lists and without an index. */
    rows: { type: 'string', default: '50000' },
  },
});
const seconds = Math.max(4, Math.round(Number(options.minutes) * 60));
const only = options.only?.split(',') ?? caseNames;
const mebibyte = 1024 ** 2;
const samples = 20;

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function printTimes(alone: PoliteResult, beside: PoliteResult): void {
  console.log(
    '| request | alone p50 / p99 ms | beside p50 / p99 / worst ms | p99 ratio |\n|---|---|---|---|',
  );
  const line = (name: string, before: readonly number[], after: readonly number[]): void => {
    const [a50, a99, b50, b99] = [before, after].flatMap((times) => [
      quantile(times, 0.5),
      quantile(times, 0.99),
    ]) as [number, number, number, number];
    const shown = [a50, a99, b50, b99, quantile(after, 1)].map((time) => time.toFixed(1));
    console.log(
      `| ${name} | ${shown[0]} / ${shown[1]} | ${shown.slice(2).join(' / ')} | ${(b99 / a99).toFixed(1)} |`,
    );
  };
  for (const name of politeRequests) line(name, alone.times[name], beside.times[name]);
  const all = ({ times }: PoliteResult): number[] => politeRequests.flatMap((name) => times[name]);
  line('all', all(alone), all(beside));
}

const folder = makeTemporaryDirectory();
progress('accounts and records are made');
const stage = await prepareStage(folder, only, Number(options.rows));
const service = await startService(folder, { LOG_LEVEL: 'silent' });
const client = new PoliteClient({ url: service.ready, token: stage.politeToken });
await client.run(2);
progress('the client is alone');
const alone = await client.run(Math.min(60, Math.ceil(seconds / 4)));
progress(`the attack begins: ${only.join(', ')}`);
const before = residentBytes([service.pid]);
const orders = JSON.stringify({ ...stage, url: service.ready });
const attackers = await startScript('bench/hostile/attack.ts', { args: [orders], ready: /^(attacking)$/m });
let output = '';
attackers.process.stdout?.on('data', (text: Buffer) => {
  output += text.toString();
});
const resident: number[] = [];
const watch = setInterval(
  () => resident.push(Math.round(residentBytes([service.pid]) / mebibyte)),
  (seconds * 1000) / samples,
);
const beside = await client.run(seconds);
clearInterval(watch);
const attacked = attackers.process.exitCode === null;
await attackers.stop();
progress('the attack is over');
const after = await client.run(5);

console.log(machineLine(describeMachine()));
console.log(`\n${seconds} s beside ${only.length} hostile cases\n`);
printTimes(alone, beside);
const failures = [...alone.failures, ...beside.failures, ...after.failures];
if (!attacked) failures.push('the attackers ended before the client: this measured nothing');
console.log(`\nfailed requests of the client: ${failures.length}`);
for (const failure of failures.slice(0, 10)) console.log(`- ${failure}`);
console.log(`\nRSS, MiB: ${Math.round(before / mebibyte)} before; ${resident.join(', ')}`);
console.log('\nwhat came of the attacks:');
const outcomes = JSON.parse(/^outcomes (.*)$/m.exec(output)?.[1] ?? '{}') as Record<string, object>;
for (const [name, counts] of Object.entries(outcomes)) console.log(`- ${name}: ${JSON.stringify(counts)}`);
await service.stop();
removeTemporaryDirectory(folder);
if (failures.length > 0) process.exitCode = 1;
