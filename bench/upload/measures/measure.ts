import type { Sink } from '../sink/start-sink.ts';
import type { StoreName } from '../subject/start-sluice.ts';

/** What a measure may use. */
export interface Bench {
  readonly sink: Sink;
  readonly store: StoreName;
  readonly rounds: number;
  /** Small sizes, to check that everything works. */
  readonly quick: boolean;
}

/** A bound and the aim beyond it, in the unit of the value. */
export interface Goal {
  readonly bound: 'at most' | 'at least' | 'below';
  readonly first: number;
  readonly aim: number;
  /** The unit of both in the table. */
  readonly unit: string;
}

/** One line of the table. */
export interface Finding {
  readonly measure: string;
  readonly what: string;
  /** As shown, with unit. */
  readonly subject: string;
  readonly baseline: string;
  readonly goal: Goal | null;
  /** The figure that the goal applies to; null: it could not be measured, and `remark` says why. */
  readonly value: number | null;
  readonly shown: string;
  /** Reasons to doubt the figure, such as a wrong upload. */
  readonly problems: readonly string[];
  readonly remark?: string;
  /** The data behind the value. */
  readonly details?: object;
}

export interface Measure {
  readonly id: string;
  readonly run: (bench: Bench) => Promise<Finding[]>;
}
