import type { ReadSource } from '#kernel/telemetry/create-metrics.ts';
import type { Conditions } from './parse-conditions.ts';
import type { Options } from './parse-options.ts';

/** The records of a request, their order and their number. SQL and the search in memory are made from it. */
export interface ReadPlan extends Pick<Options, 'sort' | 'page'> {
  readonly conditions: Conditions;
  /** Which values of them are asked for; null or absent: all. */
  readonly select?: Options['select'];
  /** Called once it is known where the records come from. */
  readonly tell?: ((source: ReadSource) => void) | undefined;
}
