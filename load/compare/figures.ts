import type { Window } from '../run/result.ts';

/** A figure that is compared: of each second, and of many seconds as `sum / weight`. */
export interface Figure {
  readonly name: string;
  /** How a value of it is written. */
  readonly unit: '/s' | 'ms' | 'share' | 'CPU ms';
  readonly better: 'higher' | 'lower';
  /** What a second adds; null: it says nothing of this figure. */
  readonly of: (window: Window) => Share | null;
  /** The value of many seconds, as it is compared. */
  readonly valueIn: (share: Share) => number;
  /** A compared value as it is shown. */
  readonly shown: (value: number) => number;
  /** What a difference of compared values is to somebody who reads it: a share of `from`, or of all requests. */
  readonly changeFor: (difference: number, from: number) => number;
  /** The smallest change that may be called one. */
  readonly least: number;
}

export interface Share {
  readonly sum: number;
  readonly weight: number;
}

const ratio = {
  valueIn: ({ sum, weight }: Share): number => (weight === 0 ? 0 : sum / weight),
  shown: (value: number): number => value,
  changeFor: (difference: number, from: number): number => (from === 0 ? 0 : difference / from),
};

/**
 * Latencies are compared as logarithms. A mean of them is geometric, so that the second of a pause does not decide, and twice as
 * long is as far off as half as long.
 */
const latency = (name: 'p50' | 'p99'): Figure => ({
  name,
  unit: 'ms',
  better: 'lower',
  of: ({ [name]: value }) => (value === null ? null : { sum: Math.log(Math.max(value, 1e-3)), weight: 1 }),
  valueIn: ratio.valueIn,
  shown: Math.exp,
  changeFor: Math.expm1,
  least: 0.05,
});

export const figures: readonly Figure[] = [
  {
    ...ratio,
    name: 'requests/s',
    unit: '/s',
    better: 'higher',
    of: ({ good }) => ({ sum: good, weight: 1 }),
    least: 0.03,
  },
  latency('p50'),
  latency('p99'),
  {
    ...ratio,
    name: 'errors',
    unit: 'share',
    better: 'lower',
    of: ({ failed, good }) => ({ sum: failed, weight: failed + good }),
    // of no errors, nothing is a tenth
    changeFor: (difference) => difference,
    least: 0.0001,
  },
  {
    ...ratio,
    name: 'CPU of the target a request',
    unit: 'CPU ms',
    better: 'lower',
    of: ({ targetCpu, good }) => (targetCpu === null ? null : { sum: 1000 * targetCpu, weight: good }),
    least: 0.03,
  },
];
