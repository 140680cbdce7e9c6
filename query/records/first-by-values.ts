import { allRecords, equals } from './input/parse-conditions.ts';
import { firstOf } from './plan-sql.ts';
import { ruled } from './ruled.ts';
import { anyOfSql, conditionsSql } from './sql/conditions-sql.ts';
import { rowColumns } from './sql/record-row.ts';
import type { StoredRow } from './sql/stored-row.ts';
import { valueSql } from './sql/value-sql.ts';
import type { RecordStore } from './store/record-store.ts';
import type { Target } from './structure/field.ts';
import type { RecordSpace } from './structure/record-space.ts';
import { slotOf } from './structure/slots.ts';
import type { StoredValue } from './types/field-type.ts';

/** The oldest record for each value, in one statement. Values that no record has are left out. */
export async function firstByValues(
  store: RecordStore,
  { space, target }: { readonly space: RecordSpace; readonly target: Target },
  values: readonly StoredValue[],
  signal: AbortSignal,
): Promise<ReadonlyMap<StoredValue, StoredRow>> {
  const found = new Map<StoredValue, StoredRow>();
  const rule = ruled(space, allRecords);
  const areHeld = values.every((value) => {
    const conditions = { ...rule, plain: [equals(target, value), ...rule.plain] };
    const now = store.findNow(space, { conditions, sort: null, page: firstOf({ page: null }) });
    for (const row of now?.table.rows(now.numbers) ?? []) found.set(value, row);
    return now !== null;
  });
  if (areHeld) return found;
  const isRare = await store.selectivity(space);
  const areRare = typeof target !== 'string' && values.every((value) => isRare(target, value));
  const indexed = areRare ? values.map((value) => ({ target, value })) : [];
  const any = anyOfSql(
    [target],
    values.map((value) => [value]),
  );
  const where = [any, conditionsSql(rule)].filter((part) => part !== null).join(' AND ');
  const first = { where, tail: `ORDER BY _id LIMIT 1 BY ${valueSql(target)}` };
  const statement = store.table.select(space.id, { columns: rowColumns, indexed, ...first });
  const rows = await store.db.rows<StoredRow>({ ...statement, signal, account: space.ownerId });
  const byText = new Map<string | undefined, StoredRow>();
  for (const row of rows) byText.set(typeof target === 'string' ? row._id : row._doc[slotOf(target)], row);
  for (const value of values) {
    const row = byText.get(String(value));
    if (row !== undefined) found.set(value, row);
  }
  return found;
}
