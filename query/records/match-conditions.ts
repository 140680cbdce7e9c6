import type { Condition, Conditions } from '../input/parse-conditions.ts';
import { slotOf } from '../structure/slots.ts';
import type { LookupKey } from './record-lookups.ts';
import type { StoredRow } from './record-row.ts';

/**
 * What plain conditions look up, where that is enough to find every record that matches: an id, or a value that is
 * keyed. Null: the engine has to search.
 */
export function lookupOf({ relationship, plain, hashed }: Conditions): LookupKey | null {
  if (hashed.length > 0 || (relationship === 'Or' && plain.length !== 1)) return null;
  const byId = plain.find(({ target }) => target === 'id');
  if (byId !== undefined) return { id: byId.value as string };
  for (const { target, value } of plain) {
    if (typeof target !== 'string' && target.keyed && !(value instanceof Date)) {
      return { slot: slotOf(target), value };
    }
  }
  return null;
}

/** Whether a record has the values of all conditions. */
export function matchesAll(conditions: readonly Condition[], row: StoredRow): boolean {
  return conditions.every(({ target, value }) => {
    switch (target) {
      case 'id':
        return row._id === value;
      case 'createdAt':
        return row._created_at === (value as Date).toISOString();
      case 'updatedAt':
        return row._updated_at === (value as Date).toISOString();
      default:
        // equal values have equal texts
        return row._doc[slotOf(target)] === String(value);
    }
  });
}
