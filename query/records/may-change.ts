import { firstByValues } from './first-by-values.ts';
import { assertAllowed, mayTouch, unbound } from './ruled.ts';
import { type Assignment, changedRow } from './sql/update-sql.ts';
import type { RecordStore } from './store/record-store.ts';
import type { RecordSpace } from './structure/record-space.ts';

/** Records that are looked up at once. */
const checkedAtOnce = 500;

/**
 * The records that the rules let the request change. Call it when nobody else can change them. Throws a 403 when the rules
 * forbid what one of them would become. @param assignments null: the records are removed
 */
export async function mayChange(
  store: RecordStore,
  space: RecordSpace,
  ids: readonly string[],
  assignments: readonly Assignment[] | null,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (space.bound === undefined) return ids;
  const operation = assignments === null ? 'delete' : 'update';
  const of = { space: unbound(space), target: 'id' } as const;
  const allowed: string[] = [];
  for (let from = 0; from < ids.length; from += checkedAtOnce) {
    const rows = await firstByValues(store, of, ids.slice(from, from + checkedAtOnce), signal);
    for (const [id, row] of rows) {
      if (!mayTouch(space, operation, row)) continue;
      if (assignments !== null) assertAllowed(space, 'update', changedRow(row, assignments));
      allowed.push(id as string);
    }
  }
  return allowed;
}
