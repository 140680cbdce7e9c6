/**
 * Question: can accounts that do their worst, all at once, hold up one that does no harm?
 * `npm run bench:hostile -- [--minutes N] [--only CASE,CASE] [--rows N] [--apart]`; goals: none of its
 * requests fails, its p99 stays under 4x of alone, /healthz answers within 100 ms, and the process does not go on growing.
 *
 * One process of the service, one of all attackers, and this one is the client. It runs alone first, for a quarter of the time,
 * a minute at most. They share the machine, so attacks are as strong as it takes, and no stronger (cases.ts). With --apart
 * there is another process of the service, which nobody attacks, with a client like this one at the same time: what that
 * one waits longer than alone is the machine's, and not the service's.
 */
import { parseArgs } from 'node:util';
import { startService } from '../query/direct-store.ts';
import { startScript } from '../upload/harness/child-process.ts';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { residentBytes } from '../upload/harness/process-usage.ts';
import { progress } from '../upload/harness/progress.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../upload/harness/temporary-directory.ts';
import { PoliteClient, type PoliteResult, politeRequests } from './polite-client.ts';
import { caseNames, prepareStage, type Stage } from './prepare.ts';

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    only: { type: 'string' },
    /** Records that are read by lists and without an index. */
    rows: { type: 'string', default: '50000' },
    apart: { type: 'boolean', default: false },
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

function printTimes(alone: PoliteResult, apart: PoliteResult | null, beside: PoliteResult): void {
  console.log(
    '| request | alone p50 / p99 ms | apart p50 / p99 ms | beside p50 / p99 / worst ms | p99 beside / alone | beside / apart |\n|---|---|---|---|---|---|',
  );
  const shown = (times: readonly number[]): string =>
    `${quantile(times, 0.5).toFixed(1)} / ${quantile(times, 0.99).toFixed(1)}`;
  const line = (name: string, timesOf: (result: PoliteResult) => readonly number[]): void => {
    const [before, after] = [timesOf(alone), timesOf(beside)];
    const other = apart === null ? [] : timesOf(apart);
    const ratio = (base: readonly number[]): string =>
      base.length === 0 ? '-' : (quantile(after, 0.99) / quantile(base, 0.99)).toFixed(1);
    const cells = [
      ...[name, shown(before), other.length === 0 ? '-' : shown(other)],
      ...[`${shown(after)} / ${quantile(after, 1).toFixed(1)}`, ratio(before), ratio(other)],
    ];
    console.log(`| ${cells.join(' | ')} |`);
  };
  for (const name of politeRequests) line(name, ({ times }) => times[name]);
  line('all', ({ inOrder }) => inOrder);
}

/** The process of all attackers. @returns what ends it, and answers what it printed; null when it had ended before */
async function attack(target: Stage, url: string): Promise<() => Promise<string | null>> {
  const args = [JSON.stringify({ ...target, url })];
  const child = await startScript('bench/hostile/attack.ts', { args, ready: /^(attacking)$/m });
  let output = '';
  child.process.stdout?.on('data', (text: Buffer) => {
    output += text.toString();
  });
  return async () => {
    const attacked = child.process.exitCode === null;
    await child.stop();
    return attacked ? output : null;
  };
}

/** Another process of the service, which nobody attacks, and a client of its own. */
async function calmProcess(): Promise<{ readonly client: PoliteClient; end(): Promise<void> }> {
  const folder = makeTemporaryDirectory();
  const { politeToken } = await prepareStage(folder, [], 0);
  const service = await startService(folder, { LOG_LEVEL: 'silent' });
  const client = new PoliteClient({ url: service.ready, token: politeToken });
  await client.run(2);
  return {
    client,
    async end() {
      await service.stop();
      removeTemporaryDirectory(folder);
    },
  };
}

const folder = makeTemporaryDirectory();
progress('accounts and records are made');
const stage = await prepareStage(folder, only, Number(options.rows));
const service = await startService(folder, { LOG_LEVEL: 'silent' });
const client = new PoliteClient({ url: service.ready, token: stage.politeToken });
await client.run(2);
const calm = options.apart ? await calmProcess() : null;
progress('the client is alone');
const alone = await client.run(Math.min(60, Math.ceil(seconds / 4)));
progress(`the attack begins: ${only.join(', ')}`);
const before = residentBytes([service.pid]);
const endAttack = await attack(stage, service.ready);
const resident: number[] = [];
const watch = setInterval(
  () => resident.push(Math.round(residentBytes([service.pid]) / mebibyte)),
  (seconds * 1000) / samples,
);
const [beside, apart = null] = await Promise.all([client.run(seconds), calm?.client.run(seconds)]);
clearInterval(watch);
const output = await endAttack();
progress('the attack is over');
await calm?.end();
const after = await client.run(5);

console.log(machineLine(describeMachine()));
console.log(`\n${seconds} s beside ${only.length} hostile cases\n`);
printTimes(alone, apart, beside);
const failures = [alone, apart, beside, after].flatMap((result) => result?.failures ?? []);
if (output === null) failures.push('the attackers ended before the client: this measured nothing');
console.log(`\nfailed requests of the client: ${failures.length}`);
for (const failure of failures.slice(0, 10)) console.log(`- ${failure}`);
const eachPart = Math.ceil(beside.inOrder.length / samples);
const parts = Array.from({ length: samples }, (_, i) =>
  beside.inOrder.slice(i * eachPart, (i + 1) * eachPart),
);
console.log(`\np99 of all over time, ms: ${parts.map((part) => quantile(part, 0.99).toFixed(0)).join(', ')}`);
console.log(`\nRSS, MiB: ${Math.round(before / mebibyte)} before; ${resident.join(', ')}`);
console.log('\nwhat came of the attacks:');
const outcomes = JSON.parse(/^outcomes (.*)$/m.exec(output ?? '')?.[1] ?? '{}') as Record<string, object>;
for (const [name, counts] of Object.entries(outcomes)) console.log(`- ${name}: ${JSON.stringify(counts)}`);
await service.stop();
removeTemporaryDirectory(folder);
if (failures.length > 0) process.exitCode = 1;
