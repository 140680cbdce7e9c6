import type { Sort } from '../input/parse-options.ts';
import { valueSql } from './value-sql.ts';

/** Ids grow with the time of insertion, so they break ties, and are the order when none is asked for. */
export function orderSql(sort: Sort | null): string {
  if (sort === null) return '_id';
  const { target } = sort;
  const direction = sort.descending ? 'DESC' : 'ASC';
  if (target === 'id') return `_id ${direction}`;
  const by = `${valueSql(target)} ${direction} NULLS LAST`;
  // records of one millisecond are as old as their ids say
  return typeof target === 'string' ? `${by}, _id ${direction}` : `${by}, _id`;
}
