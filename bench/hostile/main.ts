/**
 * Question: can hostile accounts, all at once, slow down a well-behaved account more than busy neighbours would?
 * `npm run bench -- hostile [--minutes N] [--only CASE,CASE] [--rows N] [--rounds N] [--root FOLDER]`; goals: none of its
 * requests fails, its p99 stays under three times the control's, and the process does not keep growing.
 *
 * A round has two phases. In one the client shares a process with an account for each hostile case (cases.ts). In the
 * other, the control, it shares a process with as many well-behaved accounts and as much load (neighbour.ts). The two
 * phases take turns at starting a round. With --root, which may be repeated, other checkouts are measured in turns, so
 * that two versions are compared in one run.
 */
import { parseArgs } from 'node:util';
import { repositoryRoot } from '../upload/harness/child-process.ts';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { quantile } from '../upload/harness/median.ts';
import { progress } from '../upload/harness/progress.ts';
import { type PoliteResult, politeRequests } from './polite-client.ts';
import { caseNames } from './prepare.ts';
import { type Phase, prepareStores, type Round, removeStores, runRound } from './round.ts';

const { values: options } = parseArgs({
  options: {
    /** Minutes of each round. */
    minutes: { type: 'string', default: '10' },
    only: { type: 'string' },
    /** Records that are read by lists and without an index, of each account that does. */
    rows: { type: 'string', default: '50000' },
    rounds: { type: 'string', default: '1' },
    root: { type: 'string', multiple: true, default: [repositoryRoot] },
  },
});
const seconds = Math.max(4, Math.round(Number(options.minutes) * 60));
const only = options.only?.split(',') ?? caseNames;
const parts = 20;

function printTimes(rounds: readonly Round[]): void {
  console.log(
    '| request | control p50 / p99 ms | beside p50 / p99 / worst ms | p50, p99 beside / control | p99 of each round |\n|---|---|---|---|---|',
  );
  const line = (name: string, timesOf: (result: PoliteResult) => readonly number[]): void => {
    const shown = (phase: keyof Round, shares: readonly number[]): string => {
      const times = rounds.flatMap((round) => timesOf(round[phase].client));
      return shares.map((share) => quantile(times, share).toFixed(1)).join(' / ');
    };
    const ratios = (share: number): readonly number[] =>
      rounds.map(
        ({ beside, control }) =>
          quantile(timesOf(beside.client), share) / quantile(timesOf(control.client), share),
      );
    const cells = [
      name,
      shown('control', [0.5, 0.99]),
      shown('beside', [0.5, 0.99, 1]),
      [0.5, 0.99].map((share) => quantile(ratios(share), 0.5).toFixed(1)).join(', '),
      ratios(0.99)
        .map((ratio) => ratio.toFixed(1))
        .join(', '),
    ];
    console.log(`| ${cells.join(' | ')} |`);
  };
  for (const name of politeRequests) line(name, ({ times }) => times[name]);
  line('all', ({ inOrder }) => inOrder);
}

function printPhase(name: string, { client, cores, resident, outcomes }: Phase): void {
  const each = Math.ceil(client.inOrder.length / parts);
  const times = Array.from({ length: parts }, (_, i) => client.inOrder.slice(i * each, (i + 1) * each));
  const answers = Object.values(outcomes ?? {}).flatMap((counts) => Object.values(counts));
  const rate = answers.reduce((sum, count) => sum + count, 0) / seconds;
  console.log(
    `\n${name}: ${cores.toFixed(2)} cores; others' requests that ended, a second: ${rate.toFixed(0)}`,
  );
  console.log(`p99 of all over time, ms: ${times.map((part) => quantile(part, 0.99).toFixed(0)).join(', ')}`);
  console.log(`RSS, MiB: ${resident[0]} before; ${resident.slice(1).join(', ')}`);
}

/** @returns how many requests failed */
function printRounds(root: string, rounds: readonly Round[]): number {
  console.log(`\n${root}: ${rounds.length} x ${seconds} s beside ${only.length} hostile cases\n`);
  printTimes(rounds);
  const failures = rounds.flatMap((round) =>
    (['beside', 'control'] as const).flatMap((phase) => [
      ...round[phase].client.failures.map((failure) => `${phase}: ${failure}`),
      ...(round[phase].outcomes === null ? [`${phase}: the others ended first: this measured nothing`] : []),
    ]),
  );
  console.log(`\nfailed requests of the client: ${failures.length}`);
  for (const failure of failures.slice(0, 10)) console.log(`- ${failure}`);
  for (const { beside, control } of rounds) {
    printPhase('control', control);
    for (const [name, counts] of Object.entries(control.outcomes ?? {}))
      console.log(`  ${name}: ${JSON.stringify(counts)}`);
    printPhase('beside', beside);
    console.log('\nwhat came of the attacks:');
    for (const [name, counts] of Object.entries(beside.outcomes ?? {}))
      console.log(`- ${name}: ${JSON.stringify(counts)}`);
  }
  return failures.length;
}

progress('accounts and records are made');
const all = [];
for (const root of options.root) {
  all.push({ stores: await prepareStores(root, only, Number(options.rows)), rounds: [] as Round[] });
}
for (let round = 1; round <= Number(options.rounds); round++) {
  for (const { stores, rounds } of all) {
    progress(`round ${round} of ${stores.root}: ${only.join(', ')}`);
    rounds.push(await runRound(stores, seconds, round % 2 === 1 ? 'beside' : 'control'));
  }
}
console.log(machineLine(describeMachine()));
for (const { stores, rounds } of all) {
  if (printRounds(stores.root, rounds) > 0) process.exitCode = 1;
  removeStores(stores);
}
