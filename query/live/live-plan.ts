import { invalidOptions, queryTooExpensive } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { Filter } from '#records/input/filters/filter.ts';
import { asFilter, type Conditions } from '#records/input/parse-conditions.ts';
import { unparsedOptions } from '#records/input/parse-options.ts';
import { type RecordParts, wholeRecord } from '#records/structure/record-parts.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import { typeEntry } from '#records/types/field-types.ts';
import type { HttpRequest } from '#server/http/http-types.ts';
import { parseRequestConditions, type RequestConditions } from '../input/request-conditions.ts';

/** Most records of a snapshot. */
export const mostRecords = 10_000;
/** The most that conditions may cost, as each change tries them. A plain comparison costs 1. */
export const mostCost = 100;
export const jsonCost = 10;
export const textCost = 3;

export interface LivePlan {
  /** Without the conditions of rules. */
  readonly conditions: Conditions;
  readonly shown: RecordParts;
  /** Most records of a snapshot. */
  readonly limit: number;
}

/** Parses the request of a stream. Throws 400, and 422 for conditions that cost too much to try on each change. */
export function livePlan(requested: RequestConditions, request: HttpRequest, space: RecordSpace): LivePlan {
  const { options, conditions } = parseRequestConditions(requested, request, space.structure);
  const { page, sort, count, select } = options;
  const problems: string[] = [];
  if (sort !== null) problems.push('$sort: the records of a live query have no order');
  if (count) problems.push('$count: a live query has no count: clients know all its records');
  if (page?.offset || page?.after)
    problems.push('a live query has only one page: $limit is its most records');
  if (unparsedOptions(request.header('options')).populate !== undefined)
    problems.push('populate: a live query watches only one space');
  if ((page?.limit ?? 0) > mostRecords)
    problems.push(`$limit should be at most ${mostRecords} in a live query`);
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
  refuse(`has ${all.length} conditions, of which the most expensive is ${nameOf(dearest as Filter)}`);
}

function costOf(filter: Filter): number {
  if ('group' in filter) return filter.branches.reduce((sum, branch) => sum + costOf(branch), 1);
  const { target, path, operator } = filter;
  const entry = typeof target === 'string' ? null : typeEntry(target.type);
  const isText = entry === null || entry.can.includes('text');
  const isJson = path.length > 0 || entry?.isJson;
  if (isJson) return jsonCost;
  return isText && operator !== 'eq' && operator !== 'in' ? textCost : 1;
}

function nameOf(filter: Filter): string {
  if ('group' in filter) return `a group of ${filter.branches.length}`;
  const { target, path, operator } = filter;
  return shownName([typeof target === 'string' ? target : target.name, ...path, operator].join(' '));
}
