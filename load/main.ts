import { availableParallelism } from 'node:os';
import { type CostOptions, type CostWatch, watchCost } from './cost/watch-cost.ts';
import { reach } from './http/reach.ts';
import type { Mix, MixFile, Phase } from './mix/mix.ts';
import { mixOfValue, readMix } from './mix/read-mix.ts';
import { parseCapacityGoal } from './run/capacity-goal.ts';
import { CapacitySearch, type CapacityTimes, shownRate, usualTimes } from './run/capacity-search.ts';
import { Collector } from './run/collector.ts';
import { checkLimits } from './run/limits.ts';
import { LoadRun } from './run/load-run.ts';
import { type PhaseOptions, phasesOf } from './run/phases-of.ts';
import type { Capacity, RunResult, Verification, Window } from './run/result.ts';
import { RunCost } from './run/run-cost.ts';
import { runResult } from './run/run-result.ts';
import { type ThreadsOptions, WorkerThreads } from './run/worker-threads.ts';
import { openKind } from './targets/kinds.ts';
import type { Preparation, TargetAddress, TargetKind, Verify } from './targets/target.ts';

export type { Mix, MixFile } from './mix/mix.ts';
export type { RunResult, Window } from './run/result.ts';
export type { TargetAddress } from './targets/target.ts';

export interface RunOptions extends PhaseOptions {
  /** A file, the name of a mix that ships, or a mix as a file has it. */
  readonly mix: string | MixFile;
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
/** Milliseconds in which a target may start again before it is verified. */
const restartTime = 30_000;

/** Loads a server. Rejects with a sentence when the load can't run. */
export async function run(options: RunOptions): Promise<RunResult> {
  const { target, signal = new AbortController().signal, onProgress: progress = () => {} } = options;
  checkLimits(options);
  const given = await mixOf(options);
  const mix = options.seed === undefined ? given.mix : { ...given.mix, seed: options.seed };
  const phases = phasesOf(mix, options);
  // what is wrong is told before anything is stored
  if (options.capacity !== undefined) parseCapacityGoal(options.capacity);
  const kind = await openKind(target);
  refuse(kind, { mix, target, share: options.verify ?? 0 });
  if (target.module === undefined) await reach(target.url, signal);
  const watch = options.cost === undefined ? null : await watchCost(options.cost);
  const work: Preparation = { mix, address: target, signal, progress };
  let removal: Promise<string | null> | undefined;
  const cleanUp = (): Promise<string | null> => {
    removal ??= options.cleanup === true ? removeAll(kind, work) : Promise.resolve(null);
    return removal;
  };
  try {
    return await runPrepared({ options, given: { ...given, mix }, phases, kind, watch, work, cleanUp });
  } finally {
    watch?.close();
    // also after a preparation that failed
    await cleanUp();
  }
}

interface PreparedRun {
  readonly options: RunOptions;
  readonly given: { readonly mix: Mix; readonly text: string };
  readonly phases: readonly Phase[];
  readonly kind: TargetKind;
  readonly watch: CostWatch | null;
  readonly work: Preparation;
  /** @returns a sentence for what stays */
  cleanUp(): Promise<string | null>;
}

/** Prepares the target, loads it, verifies what it has stored, and removes it. */
async function runPrepared({ options, given, phases, kind, watch, work, cleanUp }: PreparedRun) {
  const { mix, address: target, signal } = work;
  const { inFlight = usualInFlight, verify: share = 0 } = options;
  const prepared = await kind.prepare(work);
  const began = new Date().toISOString();
  // the preparation is no part of the cost
  await watch?.begin();
  const cost = new RunCost(watch);
  try {
    const threads = { mix, address: target, prepared, inFlight, verify: share };
    const loaded = await runThreads({ options, threads, phases, cost, signal });
    const { cost: spent, problem: costProblem } = await cost.end();
    const { stored, wrong, live } = loaded.ended;
    const { verified, problem } = await verifiedOf(kind, { ...work, prepared, share, stored }, wrong);
    const problems = [costProblem, problem, await cleanUp()].filter((sentence) => sentence !== null);
    return runResult({
      ...{ mix, text: given.text, target, began, verified, live, inFlight },
      ...loaded,
      cost: spent,
      problems,
    });
  } finally {
    cost.close();
  }
}

/** @returns a sentence when something stays */
async function removeAll(kind: TargetKind, work: Preparation): Promise<string | null> {
  try {
    // also of a run that was ended early
    await kind.cleanUp({ ...work, signal: new AbortController().signal });
    return null;
  } catch (error) {
    return `Not all that the run made is removed: ${(error as Error).message}.`;
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
        (step) => progress(`${shownRate(step.rate)}: ${step.met ? 'met' : 'missed'}, ${step.why}`),
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
  const { options: known } = kind;
  const unknown = Object.keys(target.options).find((name) => known?.includes(name) === false);
  if (unknown !== undefined)
    throw new Error(
      `a target of kind ${target.kind} has no option ${unknown}, only ${known?.join(', ') || 'none'}`,
    );
  for (const request of mix.requests) {
    const refusal = kind.refuses(request);
    if (refusal !== null) throw new Error(refusal);
  }
  if (share > 0 && kind.verify === undefined)
    throw new Error(`a target of kind ${target.kind} can't be verified`);
}

/**
 * @param wrong what requests found while the load ran
 * @returns what was verified, or null; and a sentence if it should have been, and could not
 */
async function verifiedOf(
  kind: TargetKind,
  given: Verify,
  wrong: readonly string[],
): Promise<{ readonly verified: Verification | null; readonly problem: string | null }> {
  // a run that was ended early is verified too
  const signal = given.signal.aborted ? new AbortController().signal : given.signal;
  const work = { ...given, signal };
  let verified: Verification | undefined;
  let problem: string | null = null;
  try {
    const onWait = (why: string): void =>
      work.progress(`${why}; it has ${restartTime / 1000} s to start again`);
    if (work.share > 0 && work.address.module === undefined)
      await reach(work.address.url, signal, { patience: restartTime, onWait });
    if (work.share > 0) verified = await kind.verify?.(work);
  } catch (error) {
    problem = `What was stored could not be verified: ${(error as Error).message}.`;
  }
  if (verified === undefined && wrong.length === 0) return { verified: null, problem };
  const { checked, bytes } = verified ?? { checked: wrong.length, bytes: 0 };
  const all = [...wrong, ...(verified?.wrong ?? [])].slice(0, mostSentences);
  return { verified: { checked, bytes, wrong: all }, problem };
}

async function mixOf({ mix }: RunOptions): Promise<{ mix: Mix; text: string }> {
  return typeof mix === 'string' ? readMix(mix) : { mix: mixOfValue(mix), text: JSON.stringify(mix) };
}
