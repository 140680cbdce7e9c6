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
import type { RunResult, Window } from '#load/main.ts';
import { decodeHistogram, newHistogram, percentile } from '#load/run/histogram.ts';
import type { Latency, RequestResult, Totals } from '#load/run/result.ts';
import { repositoryRoot } from '../upload/harness/child-process.ts';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { median } from '../upload/harness/median.ts';
import { progress } from '../upload/harness/progress.ts';
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
/** Of memory, in each phase. */
const samples = 20;
type Failure = readonly [count: number, text: string];

function printTimes(rounds: readonly Round[]): void {
  console.log(
    '| request | control p50 / p99 ms | beside p50 / p99 / worst ms | p50, p99 beside / control | p99 of each round |\n|---|---|---|---|---|',
  );
  const line = (name: string, latencyOf: (result: RunResult) => Latency): void => {
    const shown = (phase: keyof Round, percents: readonly number[]): string => {
      const times = newHistogram();
      for (const round of rounds) times.add(decodeHistogram(latencyOf(round[phase].client).histogram));
      return percents.map((percent) => (percentile(times, percent) ?? Number.NaN).toFixed(1)).join(' / ');
    };
    const ratios = (key: 'p50' | 'p99'): readonly number[] =>
      rounds.map(({ beside, control }) => latencyOf(beside.client)[key] / latencyOf(control.client)[key]);
    const cells = [
      name,
      shown('control', [50, 99]),
      shown('beside', [50, 99, 100]),
      [ratios('p50'), ratios('p99')].map((all) => median(all).toFixed(1)).join(', '),
      ratios('p99')
        .map((ratio) => ratio.toFixed(1))
        .join(', '),
    ];
    console.log(`| ${cells.join(' | ')} |`);
  };
  for (const [place, { name }] of (rounds[0]?.beside.client.requests ?? []).entries())
    line(name, ({ requests }) => (requests[place] as RequestResult).latency);
  line('all', ({ totals }) => totals.latency);
}

function printPhase(name: keyof Round, { client, others }: Phase): void {
  const counting = client.phases.filter(({ counts }) => counts);
  const names = new Set(counting.map((phase) => phase.name));
  const windows = client.windows.filter(({ phase }) => names.has(phase));
  const cores = windows.reduce((sum, { targetCpu }) => sum + (targetCpu ?? 0), 0) / windows.length;
  const answers = Object.values(others?.outcomes ?? {}).flatMap((counts) => Object.values(counts));
  const rate = answers.reduce((sum, count) => sum + count, 0) / (others?.seconds ?? 1);
  const every = Math.ceil(windows.length / samples);
  const resident = windows.filter((_, at) => at % every === 0).map(mebibytes);
  console.log(
    `\n${name}: ${cores.toFixed(2)} cores; others' requests that ended, a second: ${rate.toFixed(0)}`,
  );
  console.log(
    `p99 of all over time, ms: ${counting.map(({ latency }) => latency.p99.toFixed(0)).join(', ')}`,
  );
  console.log(`RSS, MiB: ${client.windows.slice(0, 1).map(mebibytes)} before; ${resident.join(', ')}`);
  console.log(`records and files that were read again: ${client.verified?.checked}`);
  for (const warning of client.warnings) console.log(warning);
  console.log(`\nwhat came of the ${name === 'beside' ? 'attacks' : 'neighbours'}:`);
  for (const [account, counts] of Object.entries(others?.outcomes ?? {}))
    console.log(`${name === 'beside' ? '-' : ' '} ${account}: ${JSON.stringify(counts)}`);
}

function mebibytes({ targetMemory }: Window): string {
  return targetMemory === null ? 'unknown' : (targetMemory / 1024 ** 2).toFixed(0);
}

/** Of all requests since the others began, and of what was read again. @returns how often each, and a sentence */
function failuresOf(name: keyof Round, { client, others }: Phase): readonly Failure[] {
  const ofCodes = (what: string, { codes }: Totals): readonly Failure[] =>
    Object.entries(codes).map(([code, count]) => [count, `${name}, ${what}: ${count} times ${code}`]);
  const texts = [
    ...(client.verified?.wrong ?? []),
    ...(others === null ? ['the others ended first: this measured nothing'] : []),
  ];
  return [
    ...client.requests.flatMap((request) => ofCodes(request.name, request)),
    ...client.phases.slice(-1).flatMap((after) => ofCodes('after the others', after)),
    ...texts.map((text): Failure => [1, `${name}: ${text}`]),
  ];
}

/** @returns how many requests failed */
function printRounds(root: string, rounds: readonly Round[]): number {
  console.log(`\n${root}: ${rounds.length} x ${seconds} s beside ${only.length} hostile cases\n`);
  printTimes(rounds);
  const failures = rounds.flatMap(({ beside, control }) => [
    ...failuresOf('beside', beside),
    ...failuresOf('control', control),
  ]);
  const failed = failures.reduce((sum, [count]) => sum + count, 0);
  console.log(`\nfailed requests of the client: ${failed}`);
  for (const [, text] of failures.slice(0, 10)) console.log(`- ${text}`);
  for (const { beside, control } of rounds) {
    printPhase('control', control);
    printPhase('beside', beside);
  }
  return failed;
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
