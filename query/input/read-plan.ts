import type { Conditions } from './parse-conditions.ts';
import type { Options } from './parse-options.ts';

/** Which records a request asks for, in which order and how many: what SQL and the search in memory are made from. */
export interface ReadPlan extends Pick<Options, 'sort' | 'page'> {
  readonly conditions: Conditions;
  /** Which values of them are asked for; null or absent: all. */
  readonly select?: Options['select'];
}
