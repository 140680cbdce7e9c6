import { type ExceededLimit, exceededLimit } from '#engine/exceeded-limit.ts';
import { queryTooExpensive } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { Conditions } from './input/parse-conditions.ts';
import { costSql, countedSettings, countedSql } from './sql/aggregate-sql.ts';
import { selectiveConditions } from './sql/conditions-sql.ts';
import type { RecordSpace } from './structure/record-space.ts';
import type { Structure } from './structure/structure.ts';

/** Limits on what one read may cost the engine. */
export interface ReadCost {
  /** Records; 0: any number. */
  readonly maxRows: number;
  /** Milliseconds. */
  readonly timeout: number;
}

export interface StatementLimits {
  /** Records that the engine may plan to read; 0: any number; null: no limits. */
  readonly maxRows: number | null;
  readonly counted?: string;
}

/** The limits of a request: its access token may override the usual ones. */
export function costFor({ limits }: RecordSpace, usual: ReadCost): ReadCost {
  return { ...usual, ...limits };
}

/** The error of a read whose statement has limits: a 422 when the read would cost more. */
export function readError(
  error: unknown,
  { structure, limits }: RecordSpace,
  conditions: Conditions,
  cost: ReadCost,
): unknown {
  const limit = exceededLimit(error);
  if (limit === null) return error;
  return queryTooExpensive(
    `${problemOf(limit, cost, limits)}: ${helpFor(limit, structure, conditions)}`,
    error,
  );
}

/**
 * Limits for a second try of a read that may end early: the engine planned to read more records than allowed, and is now
 * stopped only when it has read that many. Null: another error, or the second try.
 */
export function nextLimits(error: unknown, { maxRows, counted }: StatementLimits): StatementLimits | null {
  if (maxRows === null || counted !== undefined || exceededLimit(error)?.of !== 'rows') return null;
  return { maxRows: 0, counted: countedSql(maxRows) };
}

/** Settings of a statement. @param space absent: a stream, because its reader may be slow */
export function costOf({ maxRows, counted }: StatementLimits, space?: RecordSpace): string {
  if (maxRows === null) return '';
  const cost = costSql(maxRows, space?.limits?.timeout);
  return counted === undefined ? cost : `${cost}, ${countedSettings}`;
}

function helpFor({ of }: ExceededLimit, { fields }: Structure, conditions: Conditions): string {
  if (of !== 'rows' && of !== 'time') return 'add a condition, or ask for fewer or larger groups';
  if (selectiveConditions(conditions, ({ keyed }) => keyed) !== null) return 'ask for fewer values at once';
  const keyed = fields.filter((field) => field.keyed).map(({ name }) => shownName(name));
  return `with eq or in on ${["'id'", ...keyed].join(' or ')} the fewest records are read`;
}

function problemOf(
  { of, found, most }: ExceededLimit,
  { maxRows, timeout }: ReadCost,
  limits: RecordSpace['limits'],
): string {
  const by = (own: number | undefined, setting: string) => (own === undefined ? setting : 'the access token');
  switch (of) {
    case 'rows': {
      const read = found ?? `more than ${maxRows}`;
      return `would read ${read} records, and ${by(limits?.maxRows, 'READ_MAX_ROWS')} allows ${maxRows}`;
    }
    case 'time':
      return `takes the engine longer than the ${timeout} ms that ${by(limits?.timeout, 'READ_TIMEOUT_MS')} allows`;
    case 'groups':
      return `has ${found} groups, and may have ${most}`;
    case 'memory':
      return `takes ${found} of memory, and may take ${most}`;
    case 'answer':
      return `has an answer of ${found}, and it may have ${most}`;
  }
}
