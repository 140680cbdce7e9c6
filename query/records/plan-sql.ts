import type { Conditions } from './input/parse-conditions.ts';
import type { Page } from './input/parse-options.ts';
import type { ReadPlan } from './input/read-plan.ts';
import { afterSql, orderSql } from './sql/conditions-sql.ts';
import type { Selection } from './sql/records-table.ts';
import type { LookupKey } from './store/record-store.ts';
import { slotOf } from './structure/slots.ts';

export function firstOf({ page }: Pick<ReadPlan, 'page'>): Page {
  return { ...page, limit: 1, offset: page?.offset ?? 0 };
}

export function tailOf({ sort, page }: Omit<ReadPlan, 'conditions'>, settings = ''): string {
  const limit = page === null ? '' : ` LIMIT ${page.limit} OFFSET ${page.offset}`;
  return `ORDER BY ${orderSql(sort)}${limit}${settings && ` SETTINGS ${settings}`}`;
}

export function whereOf(
  { where = null }: Pick<Selection, 'where'>,
  { sort, page }: Omit<ReadPlan, 'conditions'>,
): string | null {
  const parts = where === null ? [] : [where];
  if (page?.after !== undefined) parts.push(afterSql(sort, page.after));
  return parts.length === 0 ? null : parts.join(' AND ');
}

/**
 * Whether the engine may read more records than the plan returns. It does not for all records of a space in their stored
 * order, nor for pages of them.
 */
export function isSearch({ conditions: { plain, others }, sort }: Omit<ReadPlan, 'page'>): boolean {
  return isSorted({ sort }) || plain.length + others.length > 0;
}

/** Whether the engine may end before it has read all that it plans to read. */
export function mayEndEarly({ sort, page }: Pick<ReadPlan, 'sort' | 'page'>): boolean {
  return page !== null && !isSorted({ sort });
}

/** Whether the order differs from the stored one. */
function isSorted({ sort }: Pick<ReadPlan, 'sort'>): boolean {
  return sort !== null && sort[0].target !== 'id';
}

/** An id or keyed value that every matching record has. Null: the engine has to search. */
export function lookupOf({ relationship, plain, others, hashed }: Conditions): LookupKey | null {
  if (hashed.length > 0 || (relationship === 'Or' && plain.length + others.length !== 1)) return null;
  const byId = plain.find(({ target }) => target === 'id');
  if (byId !== undefined) return { id: byId.value as string };
  for (const { target, value } of plain) {
    if (typeof target !== 'string' && target.keyed && !(value instanceof Date)) {
      return { slot: slotOf(target), value };
    }
  }
  return null;
}
