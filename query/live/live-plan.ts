import { invalidOptions, queryTooExpensive } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { Filter } from '#records/input/filters/filter.ts';
import { asFilter, type Conditions } from '#records/input/parse-conditions.ts';
import { unparsedOptions } from '#records/input/parse-options.ts';
import { type RecordParts, wholeRecord } from '#records/structure/record-parts.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { parseRequestConditions, type RequestConditions } from '../input/request-conditions.ts';

/** Records of a snapshot. */
export const mostRecords = 10_000;
/** What conditions may cost that are tried on each change: a comparison costs 1, and one that parses JSON 10. */
export const mostCost = 100;
export const parsingCost = 10;
export const foldingCost = 3;

export interface LivePlan {
  /** Without those of rules. */
  readonly conditions: Conditions;
  readonly shown: RecordParts;
  /** Records of a snapshot, at most. */
  readonly limit: number;
}

/** Reads what a stream is asked for. Throws 400, and 422 for conditions that cost too much to try on each change. */
export function livePlan(asked: RequestConditions, request: HttpRequest, space: RecordSpace): LivePlan {
  const { options, conditions } = parseRequestConditions(asked, request, space.structure, request.query);
  const { page, sort, count, select } = options;
  const problems = [
    ...(sort === null ? [] : ['$sort: the records of a live find have no order']),
    ...(count ? ['$count: a live find counts its records by itself'] : []),
    ...(page?.offset || page?.after ? ['a live find has one page: $limit is the most that it may have'] : []),
    ...(unparsedOptions(request.header('options')).populate === undefined
      ? []
      : ['populate: a live find watches one space']),
    ...((page?.limit ?? 0) > mostRecords ? [`$limit should be at most ${mostRecords} in a live find`] : []),
  ];
  if (problems.length > 0) throw invalidOptions(problems.map((problem) => `Options: ${problem}`));
  assertCheap(conditions, space);
  const shown = select ?? wholeRecord(space.structure);
  return { conditions, shown, limit: page?.limit ?? mostRecords };
}

function assertCheap({ plain, others, hashed }: Conditions, { bound }: RecordSpace): void {
  const refuse = (which: string): never => {
    throw queryTooExpensive(`${which}, which costs too much to be tried on each change of a record`);
  };
  if (hashed[0] !== undefined) refuse(`compares the hashed field ${shownName(hashed[0].field.name)}`);
  if (bound?.isTimed) refuse('is bound by rules with $now');
  const all = [...plain.map(asFilter), ...others];
  const cost = all.reduce((sum, filter) => sum + costOf(filter), 0);
  if (cost <= mostCost) return;
  const [dearest] = all.toSorted((one, other) => costOf(other) - costOf(one));
  refuse(`has ${all.length} conditions, the dearest of them ${nameOf(dearest as Filter)}`);
}

function costOf(filter: Filter): number {
  if ('group' in filter) return filter.branches.reduce((sum, branch) => sum + costOf(branch), 1);
  const { target, path, operator } = filter;
  const isText = typeof target === 'string' || target.type === 'TEXT';
  const isJson = path.length > 0 || (typeof target !== 'string' && /ARRAY|OBJECT/.test(target.type));
  if (isJson) return parsingCost;
  return isText && operator !== 'eq' && operator !== 'in' ? foldingCost : 1;
}

function nameOf(filter: Filter): string {
  if ('group' in filter) return `a group of ${filter.branches.length}`;
  const { target, path, operator } = filter;
  return shownName([typeof target === 'string' ? target : target.name, ...path, operator].join(' '));
}
