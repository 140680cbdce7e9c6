import type { Phase } from '../mix/mix.ts';
import type { CapacityGoal } from './capacity-goal.ts';
import type { CapacityTrials, Trial } from './capacity-search.ts';
import type { CollectedPhase, Collector } from './collector.ts';
import { Schedule } from './schedule.ts';
import { threadClock } from './thread-clock.ts';
import type { RunningPhase, WorkerThreads } from './worker-threads.ts';

/** Share of a rate that the tool must have sent for a trial to be one. */
const keptShare = 0.99;
/** Milliseconds between two looks at a trial. */
const lookInterval = 500;

/** A phase that ran. */
export interface PhaseRun {
  readonly phase: Phase;
  /** For how long. */
  readonly seconds: number;
  readonly collected: CollectedPhase;
}

/** The phases of a run, one after another. An aborted signal ends the running one, and no other begins. */
export class LoadRun {
  readonly phases: PhaseRun[] = [];
  readonly #threads: WorkerThreads;
  readonly #collector: Collector;
  readonly #signal: AbortSignal;
  /** Milliseconds that requests under way get to end once the signal is aborted. */
  readonly #grace: number;

  constructor(args: { threads: WorkerThreads; collector: Collector; signal: AbortSignal; grace: number }) {
    this.#threads = args.threads;
    this.#collector = args.collector;
    this.#signal = args.signal;
    this.#grace = args.grace;
  }

  /** Each begins when the one before it has started all its requests: answers may come later. */
  async runAll(phases: readonly Phase[]): Promise<void> {
    let last: RunningPhase | undefined;
    for (const phase of phases) {
      if (this.#signal.aborted) break;
      last = await this.#start(phase);
    }
    await this.#drain(last);
  }

  /** The trials of a capacity search. */
  trials(goal: CapacityGoal): CapacityTrials {
    const phase = { rateAtEnd: null, streams: 0 };
    return {
      signal: this.#signal,
      baseline: async (seconds) => {
        const alone: Phase = {
          ...phase,
          name: 'baseline',
          seconds,
          rate: null,
          concurrency: 1,
          counts: false,
        };
        await this.#drain(await this.#start(alone));
        const run = this.phases.at(-1) as PhaseRun;
        return run.collected.totals.good / run.seconds;
      },
      tryRate: async (name, rate, seconds, counts) => {
        // of several confirmations only the last counts
        if (counts) this.#collector.startOver();
        const open: Phase = { ...phase, name, seconds, rate, concurrency: null, counts };
        await this.#drain(await this.#start(open, goal));
        return this.#trialOf(this.phases.at(-1) as PhaseRun, rate);
      },
    };
  }

  async #start(phase: Phase, goal?: CapacityGoal): Promise<RunningPhase> {
    await this.#threads.openStreams(phase.streams);
    const index = this.#collector.beginPhase(phase.name, phase.counts);
    const collected = this.#collector.phases[index] as CollectedPhase;
    const running = this.#threads.startPhase(index, phase);
    let stopped = false;
    const stop = (): void => {
      stopped = true;
      this.#threads.stopPhase();
    };
    this.#signal.addEventListener('abort', stop);
    if (this.#signal.aborted) stop();
    const look = goal && setInterval(() => isHopeless(goal, phase, collected) && stop(), lookInterval);
    try {
      await running.started;
    } finally {
      clearInterval(look);
      this.#signal.removeEventListener('abort', stop);
    }
    // a timer may fire within the millisecond before its time
    const seconds = stopped ? (threadClock() - running.began) / 1000 : phase.seconds;
    this.phases.push({ phase, seconds: Math.min(seconds, phase.seconds), collected });
    return running;
  }

  async #drain(running: RunningPhase | undefined): Promise<void> {
    if (running === undefined) return;
    let timer: NodeJS.Timeout | undefined;
    const giveUp = (): void => {
      timer ??= setTimeout(() => this.#threads.abort(), this.#grace);
    };
    this.#signal.addEventListener('abort', giveUp);
    if (this.#signal.aborted) giveUp();
    try {
      await running.drained;
    } finally {
      clearTimeout(timer);
      this.#signal.removeEventListener('abort', giveUp);
    }
  }

  #trialOf({ collected, seconds, phase }: PhaseRun, rate: number): Trial {
    const { totals } = collected;
    const due = new Schedule(rate, rate, phase.seconds).requests * Math.min(1, seconds / phase.seconds);
    const kept = totals.sent >= Math.floor(due * keptShare) || totals.codes.not_started !== undefined;
    const toolProblem = kept ? null : 'the tool itself could not keep to the schedule';
    return { totals, seconds, toolProblem };
  }
}

/** Whether a trial has missed its goal already, however it ends. */
function isHopeless(goal: CapacityGoal, phase: Phase, { totals }: CollectedPhase): boolean {
  const ended = totals.good + totals.failed;
  const planned = (phase.rate ?? 0) * phase.seconds;
  return goal.conditions.some((condition) => {
    if (condition.kind === 'errors') return totals.failed > condition.share * planned;
    const allowed = (1 - condition.percent / 100) * planned;
    if (ended <= allowed + 1) return false;
    const worst = totals.latency.getValueAtPercentile(100 * (1 - (allowed + 1) / ended));
    return worst / 1000 >= condition.milliseconds;
  });
}
