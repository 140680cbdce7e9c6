import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, platform } from 'node:os';
import { join } from 'node:path';
import type { Mix } from './mix/mix.ts';
import { readMix } from './mix/read-mix.ts';
import { parseCapacityGoal } from './run/capacity-goal.ts';
import { CapacitySearch, type CapacityTimes, usualTimes } from './run/capacity-search.ts';
import { Collector } from './run/collector.ts';
import { LoadRun } from './run/load-run.ts';
import { type PhaseOptions, phasesOf } from './run/phases-of.ts';
import { ProcessCost } from './run/process-cost.ts';
import type { Capacity, RunResult, Verification, Window } from './run/result.ts';
import { warningsOf } from './run/warnings.ts';
import { type Ended, WorkerThreads } from './run/worker-threads.ts';
import { openKind } from './targets/kinds.ts';
import type { Preparation, TargetAddress, TargetKind, Verify } from './targets/target.ts';

export type { Mix } from './mix/mix.ts';
export type { RunResult, Window } from './run/result.ts';
export type { TargetAddress } from './targets/target.ts';

export interface RunOptions extends PhaseOptions {
  /** A file, the name of a mix that ships, or a mix. */
  readonly mix: string | Mix;
  readonly target: TargetAddress;
  /** A goal such as `p99 < 50ms, errors < 0.1 %`: the run is a search for the highest rate that meets it. */
  readonly capacity?: string;
  readonly capacityTimes?: CapacityTimes;
  /** Threads; as many as the machine has cores by default. */
  readonly workers?: number;
  /** Instead of the mix's. */
  readonly seed?: number;
  /** Share of what is stored that is read again and compared, 0 to 1. */
  readonly verify?: number;
  /** Removes what the run made. */
  readonly cleanup?: boolean;
  /** Milliseconds until a request without an answer has failed; 30,000 by default. */
  readonly timeout?: number;
  /** Requests that may be under way at once in an open loop; 2,000 by default. */
  readonly inFlight?: number;
  /** Ends the run early, with the result of what ran. Before the first request the run rejects with its reason. */
  readonly signal?: AbortSignal;
  /** One line for whoever waits. */
  onProgress?(line: string): void;
  /** Each second. */
  onWindow?(window: Window): void;
}

const usualTimeout = 30_000;
const usualInFlight = 2000;
/** Sentences of a verification. */
const mostSentences = 100;
/** Milliseconds that requests get to end once the signal is aborted. */
const grace = 2000;

/** Loads a server. Rejects with a sentence when the load can't run. */
export async function run(options: RunOptions): Promise<RunResult> {
  const { target, signal = new AbortController().signal, onProgress: progress = () => {} } = options;
  const given = await mixOf(options);
  const mix = options.seed === undefined ? given.mix : { ...given.mix, seed: options.seed };
  const phases = phasesOf(mix, options);
  const goal = options.capacity === undefined ? null : parseCapacityGoal(options.capacity);
  const kind = await openKind(target.kind);
  const share = options.verify ?? 0;
  refuse(kind, { mix, target, share });
  const work: Preparation = { mix, address: target, signal, progress };
  const prepared = await kind.prepare(work);
  const workers = options.workers ?? availableParallelism();
  const inFlight = options.inFlight ?? usualInFlight;
  const began = new Date().toISOString();
  const cost = new ProcessCost();
  const collector = new Collector({
    mix,
    workers,
    costOf: () => ({ toolCpu: cost.sample(), targetCpu: null, targetMemory: null }),
    onWindow: (window) => options.onWindow?.(window),
  });
  const threads = await WorkerThreads.start({
    ...{ workers, mix, address: target, prepared, inFlight },
    timeout: options.timeout ?? usualTimeout,
    verify: share,
  });
  let capacity: Capacity | null = null;
  const load = new LoadRun({ threads, collector, signal, grace });
  let toolCpu = 0;
  let ended: Ended;
  try {
    threads.begin(collector);
    if (goal === null) await load.runAll(phases);
    else {
      const search = new CapacitySearch(
        goal,
        options.capacityTimes ?? usualTimes,
        load.trials(goal),
        (step) => progress(`${Math.round(step.rate)}/s: ${step.met ? 'met' : 'missed'}, ${step.why}`),
      );
      capacity = await search.run();
    }
    toolCpu = cost.cpu;
    ended = await threads.end();
  } finally {
    await threads.terminate();
  }
  collector.end();
  // also of a run that was ended early
  const after = { ...work, signal: new AbortController().signal };
  const verified = await verifiedOf(kind, { ...after, prepared, share, stored: ended.stored }, ended.wrong);
  if (options.cleanup === true) await kind.cleanUp(after);
  return resultOf({
    ...{ mix, text: given.text, target, began, load, collector, capacity, verified, inFlight },
    tool: { cpu: toolCpu, memory: cost.memory },
  });
}

/** Throws a sentence for what a kind of servers does not serve. */
function refuse(
  kind: TargetKind,
  { mix, target, share }: { mix: Mix; target: TargetAddress; share: number },
): void {
  for (const request of mix.requests) {
    const refusal = kind.refuses(request);
    if (refusal !== null) throw new Error(refusal);
  }
  if (share > 0 && kind.verify === undefined)
    throw new Error(`a target of kind ${target.kind} can't be verified`);
}

/** @param wrong what requests found while the load ran */
async function verifiedOf(
  kind: TargetKind,
  work: Verify,
  wrong: readonly string[],
): Promise<Verification | null> {
  const verified = work.share > 0 ? await kind.verify?.(work) : undefined;
  if (verified === undefined && wrong.length === 0) return null;
  const { checked, bytes } = verified ?? { checked: wrong.length, bytes: 0 };
  return { checked, bytes, wrong: [...wrong, ...(verified?.wrong ?? [])].slice(0, mostSentences) };
}

async function mixOf({ mix }: RunOptions): Promise<{ mix: Mix; text: string }> {
  return typeof mix === 'string' ? readMix(mix) : { mix, text: JSON.stringify(mix) };
}

function resultOf(args: {
  mix: Mix;
  text: string;
  target: TargetAddress;
  began: string;
  load: LoadRun;
  collector: Collector;
  capacity: Capacity | null;
  verified: Verification | null;
  inFlight: number;
  tool: { cpu: number; memory: number };
}): RunResult {
  const { mix, text, target, began, load, collector, capacity, verified, inFlight, tool } = args;
  const counting = load.phases.filter(({ phase }) => phase.counts);
  const seconds = counting.reduce((sum, run) => sum + run.seconds, 0);
  return {
    version: 1,
    tool: `sluice load ${toolVersion()}`,
    machine: `${cpus()[0]?.model ?? 'unknown'}, ${availableParallelism()} cores, ${platform()} ${arch()}, Node ${process.version}`,
    mix: { name: mix.name, seed: mix.seed, text },
    target: { kind: target.kind, url: withoutCredentials(target.url) },
    began,
    seconds,
    totals: collector.whole().totals(seconds),
    requests: mix.requests.map(({ name, kind }, place) => ({
      name,
      kind,
      ...(collector.requests[place]?.totals(seconds) as RunResult['totals']),
    })),
    phases: load.phases.map(({ phase, seconds, collected }) => ({
      name: phase.name,
      seconds,
      counts: phase.counts,
      offeredRate: phase.rate === null ? null : (phase.rate + (phase.rateAtEnd ?? phase.rate)) / 2,
      ...collected.totals.totals(seconds),
    })),
    windows: collector.windows,
    live: null,
    verified,
    cost: { tool, target: null },
    warnings: warningsOf(collector, inFlight),
    capacity,
  };
}

function withoutCredentials(text: string): string {
  const url = new URL(text);
  url.username = '';
  url.password = '';
  url.search = '';
  return url.href;
}

function toolVersion(): string {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')).version;
}
