import type { ReadSource } from '#kernel/telemetry/create-metrics.ts';
import type { Conditions } from './parse-conditions.ts';
import type { Options } from './parse-options.ts';

/** Where the records of a read came from; null: not known yet. */
export interface ReadTrace {
  source: ReadSource | null;
}

/** The records of a request, their order and their number. SQL and the search in memory are made from it. */
export interface ReadPlan extends Pick<Options, 'sort' | 'page'> {
  readonly conditions: Conditions;
  /** Which values to return; null or absent: all. */
  readonly select?: Options['select'];
  /** Absent or null: the request does not ask where its records come from. */
  readonly trace?: ReadTrace | null;
}
