import type { Condition, Conditions } from '../input/parse-conditions.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import type { LookupKey } from '../store/record-store.ts';
import { slotOf } from '../structure/slots.ts';

/**
 * What plain conditions look up, where that is enough to find every record that matches: an id, or a value that is
 * keyed. Null: the engine has to search.
 */
export function lookupOf({ relationship, plain, hashed }: Conditions): LookupKey | null {
  if (hashed.length > 0 || (relationship === 'Or' && plain.length !== 1)) return null;
  const equalities = plain.filter(({ operator }) => operator === 'eq');
  const byId = equalities.find(({ target }) => target === 'id');
  if (byId !== undefined) return { id: byId.value as string };
  for (const { target, value } of equalities) {
    if (typeof target !== 'string' && target.keyed && !(value instanceof Date)) {
      return { slot: slotOf(target), value };
    }
  }
  return null;
}

/** Whether a record meets all conditions. */
export function matchesAll(conditions: readonly Condition[], row: StoredRow): boolean {
  return conditions.every((condition) => meets(condition, row));
}

function meets({ target, operator, value }: Condition, row: StoredRow): boolean {
  switch (operator) {
    case 'eq':
      return textIn(row, target) === (value instanceof Date ? value.toISOString() : String(value));
  }
}

/** Equal values have equal texts. */
function textIn(row: StoredRow, target: Condition['target']): string | undefined {
  switch (target) {
    case 'id':
      return row._id;
    case 'createdAt':
      return row._created_at;
    case 'updatedAt':
      return row._updated_at;
    default:
      return row._doc[slotOf(target)];
  }
}
