import { setTimeout as sleep } from 'node:timers/promises';
import { percentileOf } from '#load/run/histogram.ts';
import { gibibyte, kibibyte, mebibyte } from '../harness/bytes.ts';
import { prepareLoad } from '../harness/load-process.ts';
import { median } from '../harness/median.ts';
import { cpuSeconds, threadUsage } from '../harness/process-usage.ts';
import { progress } from '../harness/progress.ts';
import type { DirectUploadsJob, DirectUploadsResult } from '../load/direct-uploads.ts';
import { startSluice } from '../subject/start-sluice.ts';
import type { Subject } from '../subject/subject.ts';
import type { Bench, Finding, Measure } from './measure.ts';
import { compareRedirects } from './u14-redirects.ts';
import { withSubjects } from './with-subjects.ts';

const small = { size: 64 * kibibyte, contents: 64, clients: 64 };
const large = { size: 512 * mebibyte, contents: 2, clients: 4 };

/** Seconds for which the idle gateway is measured: its timers and its engine take CPU time, too. */
const idleSeconds = 4;

/**
 * What does an upload cost the gateway whose bytes go straight to the store? Files of 64 KiB as many as 64 clients can
 * send, and files of 512 MiB in 8 parts; then redirects of downloads. The gateway checks the token, stores a plan, signs
 * addresses, asks the store for what arrived, and writes a durable row.
 */
export const u14: Measure = {
  id: 'U14',
  run: async (bench) => [
    ...(await withSubjects([() => startSluice({ ...bench, store: 's3' })], async ([subject]) => {
      const sluice = subject as Subject;
      // the small files first: they have compiled what the large ones run
      return [...(await smallFiles(bench, sluice)), await largeFiles(bench, sluice)];
    })),
    ...(await compareRedirects(bench)),
  ],
};

export interface DirectBurst extends DirectUploadsResult {
  /** CPU seconds of the gateway, of all its threads and of the one that runs JavaScript. */
  readonly cpu: number;
  readonly main: number;
  readonly problems: readonly string[];
}

/** Sends files straight to the sink, and compares what it then has. */
export async function sendDirectly(
  { sink }: Pick<Bench, 'sink'>,
  { target, pids }: Pick<Subject, 'target' | 'pids'>,
  load: Pick<DirectUploadsJob, 'size' | 'contents' | 'clients' | 'files' | 'milliseconds'>,
): Promise<DirectBurst> {
  const job: DirectUploadsJob = {
    ...load,
    target: { ...target, path: '/_f_/bench/direct' },
    store: sink.endpoint,
  };
  const prepared = await prepareLoad<DirectUploadsResult>('direct-uploads.ts', job);
  const usage = () => ({
    cpu: cpuSeconds(pids),
    main: pids.reduce((sum, pid) => sum + threadUsage(pid).main, 0),
  });
  const before = usage();
  prepared.go();
  const result = await prepared.result;
  const after = usage();
  const problems = [...result.failures, ...(await sink.problems(result.files))];
  return { ...result, cpu: after.cpu - before.cpu, main: after.main - before.main, problems };
}

async function smallFiles(bench: Bench, sluice: Subject): Promise<Finding[]> {
  const rounds: { rate: number; p50: number; p99: number; cpu: number; main: number }[] = [];
  const problems: string[] = [];
  for (let round = 0; round <= bench.rounds; round++) {
    const milliseconds = bench.quick ? 1000 : 10_000;
    const burst = await sendDirectly(bench, sluice, { ...small, milliseconds, files: null });
    problems.push(...burst.problems);
    await bench.sink.forget();
    // round 0 warms up
    if (round === 0) continue;
    const files = burst.files.length;
    const times = burst.plans.map((time, at) => time + (burst.completions[at] ?? Number.NaN));
    const figures = {
      rate: files / burst.seconds,
      p50: percentileOf(times, 50),
      p99: percentileOf(times, 99),
      cpu: (burst.cpu * 1e6) / files,
      main: (burst.main * 1e6) / files,
    };
    rounds.push(figures);
    progress(
      `U14: 64 KiB, round ${round} of ${bench.rounds}: ${Math.round(figures.rate)} files/s, plan and completion ` +
        `p50 ${figures.p50.toFixed(1)} ms, p99 ${figures.p99.toFixed(1)} ms, CPU ${figures.cpu.toFixed(0)} us a file, ` +
        `${figures.main.toFixed(0)} of them on the main thread`,
    );
  }
  const of = (figure: keyof (typeof rounds)[number]) => median(rounds.map((round) => round[figure]));
  const [rate, p99, cpu] = [of('rate'), of('p99'), of('cpu')];
  const common = { measure: 'U14', baseline: '', problems, details: { ...small, rounds } };
  return [
    {
      ...common,
      what: 'direct uploads of 64 KiB a second, 64 clients',
      subject: `${cpu.toFixed(0)} us of CPU a file, ${of('main').toFixed(0)} on the main thread`,
      goal: { bound: 'at least', first: 1000, aim: 1500, unit: '/s' },
      value: rate,
      shown: `${Math.round(rate)}/s`,
    },
    {
      ...common,
      what: 'the plan and the completion of one, p99',
      subject: `p50 ${of('p50').toFixed(1)} ms`,
      goal: { bound: 'below', first: 100, aim: 50, unit: ' ms' },
      value: p99,
      shown: `${p99.toFixed(1)} ms`,
    },
  ];
}

async function largeFiles(bench: Bench, sluice: Subject): Promise<Finding> {
  const files = bench.quick ? 1 : 16;
  const rounds: { cpu: number; main: number; idle: number }[] = [];
  const problems: string[] = [];
  for (let round = 1; round <= bench.rounds; round++) {
    const before = cpuSeconds(sluice.pids);
    await sleep(idleSeconds * 1000);
    const idleShare = (cpuSeconds(sluice.pids) - before) / idleSeconds;
    const burst = await sendDirectly(bench, sluice, { ...large, files, milliseconds: null });
    problems.push(...burst.problems);
    await bench.sink.forget();
    const sent = (files * large.size) / gibibyte;
    const figures = {
      cpu: burst.cpu / sent,
      main: burst.main / sent,
      idle: (idleShare * burst.seconds) / sent,
    };
    rounds.push(figures);
    progress(
      `U14: 512 MiB, round ${round} of ${bench.rounds}: ${figures.cpu.toFixed(4)} CPU s/GiB, ` +
        `${figures.main.toFixed(4)} of them on the main thread, ${burst.seconds.toFixed(1)} s, idle ` +
        `${figures.idle.toFixed(4)} s/GiB`,
    );
  }
  const of = (figure: keyof (typeof rounds)[number]) => median(rounds.map((round) => round[figure]));
  const value = of('cpu');
  return {
    measure: 'U14',
    what: 'CPU time per GiB, direct uploads of 512 MiB in 8 parts',
    subject: `${of('main').toFixed(3)} s/GiB on the main thread`,
    baseline: `idle for as long: ${of('idle').toFixed(3)} s/GiB`,
    goal: { bound: 'at most', first: 0.05, aim: 0.02, unit: ' s/GiB' },
    value,
    shown: `${value.toFixed(3)} s/GiB`,
    problems,
    details: { ...large, files, rounds },
  };
}
