import type { StatementItem } from '#engine/statement-queues.ts';
import type { ReadPlan } from '../input/read-plan.ts';
import { type IsSelective, orderColumns, orderSql, selectiveConditions } from '../sql/conditions-sql.ts';
import { rowColumns } from '../sql/record-row.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { SlotValue } from '../sql/terms.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { slotOf } from '../structure/slots.ts';
import { addToList } from './add-to-list.ts';
import { pageOf, readRows, sortName } from './find-statement.ts';
import type { Engine } from './record-store.ts';
import { rowTest } from './row-test.ts';

/** A find whose records have one of a few rare values: the index of values finds them. */
export interface ValueFind extends StatementItem {
  readonly space: RecordSpace;
  readonly plan: ReadPlan;
  readonly values: readonly SlotValue[];
  /** The same for finds that compare the same fields. */
  readonly form: string;
  /** Settings of the statement; all finds of a queue have the same. */
  readonly settings: string;
  readonly timeout: number | undefined;
}

/** Values of one find; bytes and records of a statement. Beyond them a find gets its own statement, which streams. */
const mostValues = 100;
const mostRecords = 6400;
const mostBytes = 8 * 1024 ** 2;
/** The condition differs each time, so caching its granules is useless. */
const settings = 'use_query_condition_cache = 0';

/**
 * Values such that each record of the plan has at least one. Null: the engine has to search the space, or finds the records
 * in another way.
 */
export function valuesIn(
  space: RecordSpace,
  { conditions, page }: ReadPlan,
  isSelective: IsSelective,
): readonly SlotValue[] | null {
  if (conditions.hashed.length > 0 || page?.after !== undefined) return null;
  const found = selectiveConditions(conditions, isSelective);
  if (found === null || found.length === 0 || found.length > mostValues) return null;
  const values: SlotValue[] = [];
  for (const { target, value } of found) {
    if (typeof target === 'string' || value instanceof Date) return null;
    values.push({ spaceId: space.id, slot: slotOf(target), value });
  }
  return values;
}

/** Finds of one queue share statements. @param limits of the statement */
export function valueQueue(
  { id }: RecordSpace,
  { sort }: ReadPlan,
  values: readonly SlotValue[],
  limits: string,
): { readonly queue: string; readonly form: string } {
  const queue = `values ${id} ${sortName(sort)} ${limits}`;
  return { queue, form: `${queue} ${values.map(({ slot }) => slot).join()}` };
}

/** The records of each find of one queue. Null: together they have too many records, or too large ones. */
export async function readByValues(
  engine: Engine,
  finds: readonly ValueFind[],
): Promise<((find: ValueFind) => readonly StoredRow[]) | null> {
  const [{ space, plan }] = finds as [ValueFind];
  const wanted = new Map(finds.flatMap(({ values }) => values.map((one) => [keyOf(one), one] as const)));
  const columns = [rowColumns, ...orderColumns(plan.sort)].join(', ');
  const some = engine.table.selectByValues([...wanted.values()], columns);
  const sql = `SELECT ${rowColumns} FROM (${some.sql}) ORDER BY ${orderSql(plan.sort)} LIMIT ${mostRecords + 1}`;
  const rows = await readRows(engine, finds, { ...some, sql, space: space.id, settings }, mostBytes);
  if (rows === null || rows.length > mostRecords) return null;
  const found = byValue(rows, new Set(Array.from(wanted.values(), ({ slot }) => slot)));
  return ({ values, plan: own }) => {
    const test = rowTest(own.conditions);
    const [first, second] = values as [SlotValue, SlotValue?];
    const some = second === undefined ? found.get(keyOf(first)) : inOrder(rows, found, values);
    return pageOf((some ?? []).filter(test), own);
  };
}

function byValue(
  rows: readonly StoredRow[],
  slots: ReadonlySet<string>,
): ReadonlyMap<string, readonly StoredRow[]> {
  const found = new Map<string, StoredRow[]>();
  const seen = new Set<string>();
  for (const row of rows) {
    // the table may have it twice
    if (seen.has(row._id)) continue;
    seen.add(row._id);
    for (const slot of slots) {
      const value = row._doc[slot];
      if (value !== undefined) addToList(found, keyOf({ slot, value }), row);
    }
  }
  return found;
}

/** All records that have one of the values, in the order of the rows. */
function inOrder(
  rows: readonly StoredRow[],
  found: ReadonlyMap<string, readonly StoredRow[]>,
  values: readonly SlotValue[],
): readonly StoredRow[] {
  const some = new Set(values.flatMap((one) => found.get(keyOf(one)) ?? []));
  return rows.filter((row) => some.has(row));
}

function keyOf({ slot, value }: Pick<SlotValue, 'slot' | 'value'>): string {
  return `${slot} ${value}`;
}
