import type { Window } from '../run/result.ts';

/** A figure that is compared: of each second, and of many seconds as `sum / weight`. */
export interface Figure {
  readonly name: string;
  /** How a value of it is written. */
  readonly unit: '/s' | 'ms' | 'share' | 'CPU ms';
  readonly better: 'higher' | 'lower';
  /** What a second adds; null: it says nothing of this figure. */
  readonly of: (window: Window) => Share | null;
  /** The value of many seconds. */
  readonly valueIn: (share: Share) => number;
}

export interface Share {
  readonly sum: number;
  readonly weight: number;
}

const latency = (name: 'p50' | 'p99'): Figure => ({
  name,
  unit: 'ms',
  better: 'lower',
  // a geometric mean: one second of a pause does not decide, and changes are ratios
  of: ({ [name]: value }) => (value === null ? null : { sum: Math.log(Math.max(value, 1e-3)), weight: 1 }),
  valueIn: ({ sum, weight }) => Math.exp(sum / weight),
});

const ratio = ({ sum, weight }: Share): number => (weight === 0 ? 0 : sum / weight);

export const figures: readonly Figure[] = [
  {
    name: 'requests/s',
    unit: '/s',
    better: 'higher',
    of: ({ good }) => ({ sum: good, weight: 1 }),
    valueIn: ratio,
  },
  latency('p50'),
  latency('p99'),
  {
    name: 'errors',
    unit: 'share',
    better: 'lower',
    of: ({ failed, good }) => ({ sum: failed, weight: failed + good }),
    valueIn: ratio,
  },
  {
    name: 'CPU of the target a request',
    unit: 'CPU ms',
    better: 'lower',
    of: ({ targetCpu, good }) => (targetCpu === null ? null : { sum: 1000 * targetCpu, weight: good }),
    valueIn: ratio,
  },
];
