import type { Mix, Phase } from '../mix/mix.ts';
import { closedPhase } from '../mix/read-mix.ts';

export interface PhaseOptions {
  readonly rate?: number;
  readonly concurrency?: number;
  /** How long all phases last together. */
  readonly seconds?: number;
}

/** Seconds of a load whose rate or concurrency the caller chose. */
const usualSeconds = 30;

/** The phases of a run: those of the mix, or one that the caller chose. */
export function phasesOf({ phases }: Mix, { rate, concurrency, seconds }: PhaseOptions): readonly Phase[] {
  if (rate !== undefined && concurrency !== undefined)
    throw new Error('a load has either a rate or a concurrency');
  const streams = Math.max(0, ...phases.map((phase) => phase.streams));
  if (rate !== undefined)
    return [{ ...closedPhase('load', seconds ?? usualSeconds, 1), rate, concurrency: null, streams }];
  if (concurrency !== undefined)
    return [{ ...closedPhase('load', seconds ?? usualSeconds, concurrency), streams }];
  if (seconds === undefined) return phases;
  const whole = phases.reduce((sum, phase) => sum + phase.seconds, 0);
  return phases.map((phase) => ({ ...phase, seconds: (phase.seconds / whole) * seconds }));
}
