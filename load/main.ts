import { availableParallelism } from 'node:os';
import { type CostOptions, watchCost } from './cost/watch-cost.ts';
import type { Mix, Phase } from './mix/mix.ts';
import { readMix } from './mix/read-mix.ts';
import { parseCapacityGoal } from './run/capacity-goal.ts';
import { CapacitySearch, type CapacityTimes, usualTimes } from './run/capacity-search.ts';
import { Collector } from './run/collector.ts';
import { LoadRun } from './run/load-run.ts';
import { type PhaseOptions, phasesOf } from './run/phases-of.ts';
import type { Capacity, RunResult, Verification, Window } from './run/result.ts';
import { RunCost } from './run/run-cost.ts';
import { runResult } from './run/run-result.ts';
import { type ThreadsOptions, WorkerThreads } from './run/worker-threads.ts';
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
  /** Whose CPU and memory is read each second, as the target's; nobody's by default. */
  readonly cost?: CostOptions;
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
  // a goal that is wrong is told before anything is stored
  if (options.capacity !== undefined) parseCapacityGoal(options.capacity);
  const kind = await openKind(target);
  const share = options.verify ?? 0;
  refuse(kind, { mix, target, share });
  const work: Preparation = { mix, address: target, signal, progress };
  const prepared = await kind.prepare(work);
  const inFlight = options.inFlight ?? usualInFlight;
  const began = new Date().toISOString();
  const cost = new RunCost(options.cost === undefined ? null : await watchCost(options.cost));
  try {
    const threads = { mix, address: target, prepared, inFlight, verify: share };
    const loaded = await runThreads({ options, threads, phases, cost, signal });
    const { cost: spent, problem: costProblem } = await cost.end();
    // also of a run that was ended early
    const after = { ...work, signal: new AbortController().signal };
    const { stored, wrong, live } = loaded.ended;
    const verified = await verifiedOf(kind, { ...after, prepared, share, stored }, wrong);
    if (options.cleanup === true) await kind.cleanUp(after);
    const { text } = given;
    return runResult({
      ...{ mix, text, target, began, verified, live, inFlight },
      ...loaded,
      cost: spent,
      costProblem,
    });
  } finally {
    cost.close();
  }
}

interface ThreadedRun {
  readonly options: RunOptions;
  readonly threads: Pick<ThreadsOptions, 'mix' | 'address' | 'prepared' | 'inFlight' | 'verify'>;
  readonly phases: readonly Phase[];
  readonly cost: RunCost;
  readonly signal: AbortSignal;
}

/** Runs the phases or the search, and ends the threads. */
async function runThreads({ options, threads: setup, phases, cost, signal }: ThreadedRun) {
  const {
    workers = availableParallelism(),
    timeout = usualTimeout,
    onProgress: progress = () => {},
  } = options;
  const goal = options.capacity === undefined ? null : parseCapacityGoal(options.capacity);
  const collector = new Collector({
    mix: setup.mix,
    workers,
    costOf: () => cost.lastSecond,
    onWindow: (window) => options.onWindow?.(window),
  });
  const threads = await WorkerThreads.start({ ...setup, workers, timeout });
  const load = new LoadRun({ threads, collector, signal, grace });
  let capacity: Capacity | null = null;
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
    const ended = await threads.end();
    collector.end();
    return { load, collector, capacity, ended };
  } finally {
    await threads.terminate();
  }
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
