import { join } from 'node:path';
import { type RunResult, run, type TargetAddress } from '#load/main.ts';
import type { Phase } from '#load/mix/mix.ts';
import { readMix } from '#load/mix/read-mix.ts';

/** A server, and an account of its own. */
export interface PoliteAccount {
  readonly url: string;
  readonly token: string;
}

interface PoliteLoad extends PoliteAccount {
  /** Of the server, whose CPU and memory are watched. */
  readonly pid: number;
  readonly seconds: number;
  /** The others are to begin. */
  onBegin(): void;
  /** They are to end. May be called repeatedly. */
  onEnd(): void;
}

/** What the well-behaved client and the neighbours send. */
export const politeMix = join(import.meta.dirname, 'polite.json');

/** The phases whose figures count. */
const parts = 20;
/** Seconds without the others before and after them. */
const [secondsBefore, secondsAfter] = [2, 5];

export function politeTarget({ url, token }: PoliteAccount): TargetAddress {
  return { kind: 'sluice', url, credential: token, options: { project: 'polite' } };
}

/**
 * The well-behaved client: an open loop that begins before the others, and ends after them. What it stored is read again then.
 * The phases that count, while the others run, are parts of the same length.
 */
export async function runPoliteLoad({ pid, seconds, ...load }: PoliteLoad): Promise<RunResult> {
  const { mix } = await readMix(politeMix);
  const rate = mix.requests.reduce((sum, { weight }) => sum + weight, 0);
  const phaseOf = (name: string, time: number, counts: boolean): Phase => {
    return { name, seconds: time, rate, rateAtEnd: null, concurrency: null, counts, streams: 0 };
  };
  const counting = Array.from({ length: parts }, (_, i) => phaseOf(`part ${i + 1}`, seconds / parts, true));
  const phases = [
    phaseOf('before', secondsBefore, false),
    ...counting,
    phaseOf('after', secondsAfter, false),
  ];
  return run({
    mix: { ...mix, phases },
    target: politeTarget(load),
    workers: 1,
    verify: 1,
    cost: { pid },
    onWindow({ at, phase }) {
      if (at === secondsBefore - 1) load.onBegin();
      if (phase === 'after') load.onEnd();
    },
  });
}
