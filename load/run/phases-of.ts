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

/** The phases of a run: those of the mix, or its warm-up and one that the caller chose. */
export function phasesOf(
  { phases }: Mix,
  { rate, concurrency, seconds, capacity }: PhaseOptions & { readonly capacity?: string },
): readonly Phase[] {
  if ([rate, concurrency, capacity].filter((given) => given !== undefined).length > 1)
    throw new Error('a load has one of rate, concurrency and capacity');
  const whole = secondsOf(phases);
  if (rate === undefined && concurrency === undefined) {
    if (seconds === undefined) return phases;
    return phases.map((phase) => ({ ...phase, seconds: (phase.seconds / whole) * seconds }));
  }
  const streams = Math.max(0, ...phases.map((phase) => phase.streams));
  const chosen = (name: string, seconds: number): Phase => {
    const closed = { ...closedPhase(name, seconds, concurrency ?? 1), streams };
    return rate === undefined ? closed : { ...closed, rate, concurrency: null };
  };
  const all = seconds ?? usualSeconds;
  const warmUp = whole === 0 ? 0 : (secondsOf(phases.filter(({ counts }) => !counts)) / whole) * all;
  if (warmUp === 0) return [chosen('load', all)];
  return [{ ...chosen('warm-up', warmUp), counts: false }, chosen('load', all - warmUp)];
}

function secondsOf(phases: readonly Phase[]): number {
  return phases.reduce((sum, phase) => sum + phase.seconds, 0);
}
