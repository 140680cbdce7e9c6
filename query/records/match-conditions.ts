import type { Conditions } from '../input/parse-conditions.ts';
import type { LookupKey } from '../store/record-store.ts';
import { slotOf } from '../structure/slots.ts';

/**
 * The id, or the keyed value, that finds every matching record. Null: the engine has to search.
 */
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
