import { type CapacityGoal, missedCondition } from './capacity-goal.ts';
import { percentile } from './histogram.ts';
import type { Capacity } from './result.ts';
import type { RunningTotals } from './running-totals.ts';

/** How long the parts of a search last, in seconds. */
export interface CapacityTimes {
  /** A closed loop with one caller, twice: the second says the first rate. */
  readonly baseline: number;
  /** Each rate that is tried. */
  readonly step: number;
  /** The rate that was found, once more. */
  readonly confirmation: number;
}

export const usualTimes: CapacityTimes = { baseline: 10, step: 10, confirmation: 60 };

/** What the search needs of a run. */
export interface CapacityTrials {
  /** One caller without pauses. @returns answers a second */
  baseline(seconds: number): Promise<number>;
  /** An open loop at a rate, which ends early when `isHopeless` says so. */
  tryRate(name: string, rate: number, seconds: number, counts: boolean): Promise<Trial>;
  readonly signal: AbortSignal;
}

export interface Trial {
  readonly totals: RunningTotals;
  readonly seconds: number;
  /** A sentence when the tool itself did not keep to the schedule. */
  readonly toolProblem: string | null;
}

type Step = Capacity['steps'][number];

/** The lowest rate that is tried: one request in ten seconds. */
const leastRate = 0.1;
/** Two rates closer than this are one. */
const resolution = 0.05;
/** After a confirmation that missed, the next is tried at this share of its rate. */
const lowered = 0.8;
const mostConfirmations = 6;
/** Doublings from the baseline. */
const mostDoublings = 20;

/** Finds the highest rate at which a server keeps to a goal: baseline, doubling, bisection, confirmation. */
export class CapacitySearch {
  readonly #goal: CapacityGoal;
  readonly #times: CapacityTimes;
  readonly #trials: CapacityTrials;
  readonly #steps: Step[] = [];
  readonly #onStep: (step: Step) => void;

  constructor(
    goal: CapacityGoal,
    times: CapacityTimes,
    trials: CapacityTrials,
    onStep: (step: Step) => void,
  ) {
    this.#goal = goal;
    this.#times = times;
    this.#trials = trials;
    this.#onStep = onStep;
  }

  async run(): Promise<Capacity> {
    // the first one warms up a server that has just stored the records of the mix
    await this.#trials.baseline(this.#times.baseline);
    const alone = await this.#trials.baseline(this.#times.baseline);
    let [met, missed] = await this.#bracket(Math.max(leastRate, alone));
    while (missed - met > met * resolution && met > 0 && this.#goesOn) {
      const middle = (met + missed) / 2;
      if (await this.#meets(middle)) met = middle;
      else missed = middle;
    }
    const rate = met > 0 && Number.isFinite(missed) ? await this.#confirm(met) : null;
    return { goal: this.#goal.text, rate, steps: this.#steps };
  }

  get #goesOn(): boolean {
    return !this.#trials.signal.aborted;
  }

  /** @returns a rate that met the goal, 0 if none did, and one that missed it */
  async #bracket(first: number): Promise<[met: number, missed: number]> {
    let rate = first;
    // one caller alone may be faster than the goal allows at that rate
    while (!(await this.#meets(rate))) {
      if (rate <= leastRate || !this.#goesOn) return [0, rate];
      rate = Math.max(leastRate, rate / 2);
    }
    // also over rates that a cold server missed
    for (let times = 0; times < mostDoublings && this.#goesOn; times++) {
      if (!(await this.#meets(rate * 2))) return [rate, rate * 2];
      rate *= 2;
    }
    return [rate, Number.POSITIVE_INFINITY];
  }

  async #confirm(found: number): Promise<number | null> {
    let rate = found;
    for (let times = 0; times < mostConfirmations && this.#goesOn; times++) {
      if (await this.#try(rate, true)) return rate < 10 ? Math.floor(rate * 1000) / 1000 : Math.floor(rate);
      rate *= lowered;
    }
    return null;
  }

  /** A rate is missed when it was missed twice: a server that is still cold, or a moment's noise, is not its limit. */
  async #meets(rate: number): Promise<boolean> {
    return (await this.#try(rate)) || (this.#goesOn && (await this.#try(rate)));
  }

  async #try(rate: number, isConfirmation = false): Promise<boolean> {
    const seconds = isConfirmation ? this.#times.confirmation : this.#times.step;
    const name = `${isConfirmation ? 'confirmation at ' : ''}${shownRate(rate)}`;
    const trial = await this.#trials.tryRate(name, rate, seconds, isConfirmation);
    const missed = missedCondition(this.#goal, trial.totals) ?? trial.toolProblem;
    const step: Step = {
      rate,
      seconds: trial.seconds,
      met: missed === null && this.#goesOn,
      why: missed ?? (this.#goesOn ? 'it met the goal' : 'it was ended'),
      p99: percentile(trial.totals.latency, 99) ?? 0,
      errors: trial.totals.errors,
    };
    this.#steps.push(step);
    this.#onStep(step);
    return step.met;
  }
}

export function shownRate(rate: number): string {
  return `${rate < 10 ? Number(rate.toPrecision(2)) : Math.round(rate)}/s`;
}
