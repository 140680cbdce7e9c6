/**
 * Question: can accounts that do their worst, all at once, hold up one that does no harm?
 * `npm run bench -- hostile [--minutes N] [--only CASE,CASE] [--rows N] [--rounds N] [--root FOLDER]`; goals: none of its
 * requests fails, the p99 stays under four times the control's beside all cases for ten minutes and within three times
 * beside one case of requests in flight, and the process does not go on growing.
 *
 * One process of the service is attacked, by a process of all attackers. Another one, the control, has a store of its own,
 * and nobody attacks it. Two clients that do no harm send each of them the same, at the same time, on the same cores:
 * what the control's client waits for is the machine's doing, and only the rest is the service's. Attacks are as strong
 * as it takes, and no stronger (cases.ts). With --root, which may be given several times, other checkouts are attacked
 * in turns, so that two versions are compared in one run.
 */
import { parseArgs } from 'node:util';
import { repositoryRoot } from '../upload/harness/child-process.ts';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { quantile } from '../upload/harness/median.ts';
import { progress } from '../upload/harness/progress.ts';
import { type PoliteResult, politeRequests } from './polite-client.ts';
import { caseNames } from './prepare.ts';
import { prepareStores, type Round, removeStores, runRound } from './round.ts';

const { values: options } = parseArgs({
  options: {
    /** Of each round. */
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
    '| request | control p50 / p99 ms | beside p50 / p99 / worst ms | p99 beside / control | of each round |\n|---|---|---|---|---|',
  );
  const line = (name: string, timesOf: (result: PoliteResult) => readonly number[]): void => {
    const shown = (times: readonly number[], shares: readonly number[]): string =>
      shares.map((share) => quantile(times, share).toFixed(1)).join(' / ');
    const ratios = rounds.map(
      ({ beside, control }) => quantile(timesOf(beside), 0.99) / quantile(timesOf(control), 0.99),
    );
    const cells = [
      name,
      shown(
        rounds.flatMap(({ control }) => timesOf(control)),
        [0.5, 0.99],
      ),
      shown(
        rounds.flatMap(({ beside }) => timesOf(beside)),
        [0.5, 0.99, 1],
      ),
      quantile(ratios, 0.5).toFixed(1),
      ratios.map((ratio) => ratio.toFixed(1)).join(', '),
    ];
    console.log(`| ${cells.join(' | ')} |`);
  };
  for (const name of politeRequests) line(name, ({ times }) => times[name]);
  line('all', ({ inOrder }) => inOrder);
}

/** @returns how many requests failed */
function printRounds(root: string, rounds: readonly Round[]): number {
  console.log(`\n${root}: ${rounds.length} x ${seconds} s beside ${only.length} hostile cases\n`);
  printTimes(rounds);
  const failures = rounds.flatMap(({ beside, control, outcomes }) => [
    ...beside.failures,
    ...control.failures.map((failure) => `control: ${failure}`),
    ...(outcomes === null ? ['the attackers ended before the client: this measured nothing'] : []),
  ]);
  console.log(`\nfailed requests of the client: ${failures.length}`);
  for (const failure of failures.slice(0, 10)) console.log(`- ${failure}`);
  for (const { beside, resident, outcomes } of rounds) {
    const each = Math.ceil(beside.inOrder.length / parts);
    const times = Array.from({ length: parts }, (_, i) => beside.inOrder.slice(i * each, (i + 1) * each));
    console.log(
      `\np99 of all over time, ms: ${times.map((part) => quantile(part, 0.99).toFixed(0)).join(', ')}`,
    );
    console.log(`\nRSS, MiB: ${resident[0]} before; ${resident.slice(1).join(', ')}`);
    console.log('\nwhat came of the attacks:');
    for (const [name, counts] of Object.entries(outcomes ?? {}))
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
    rounds.push(await runRound(stores, seconds));
  }
}
console.log(machineLine(describeMachine()));
for (const { stores, rounds } of all) {
  if (printRounds(stores.root, rounds) > 0) process.exitCode = 1;
  removeStores(stores);
}
