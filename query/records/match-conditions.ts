import type { Filter } from '../input/filters/filter.ts';
import { filterTest, type ReadValue, valueOfText } from '../input/filters/filter-test.ts';
import type { Condition, Conditions } from '../input/parse-conditions.ts';
import type { StoredRow } from '../sql/stored-row.ts';
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

/** Whether a record meets the conditions, those on hashed fields aside. */
export function matches(
  { relationship, plain, others }: Omit<Conditions, 'hashed'>,
  row: StoredRow,
): boolean {
  const isMet = (condition: Condition): boolean => meets(condition, row);
  const isFilterMet = (filter: Filter): boolean => filterTest(filter, valueIn)(row);
  if (relationship === 'And' || plain.length + others.length === 0)
    return plain.every(isMet) && others.every(isFilterMet);
  return plain.some(isMet) || others.some(isFilterMet);
}

const valueIn: ReadValue<StoredRow> = (target) => (row) => {
  const text = textIn(row, target);
  return text === undefined ? undefined : valueOfText(target, text);
};

function meets({ target, value }: Condition, row: StoredRow): boolean {
  return textIn(row, target) === (value instanceof Date ? value.toISOString() : String(value));
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
