import { filterTest, type ReadValue, valueOfText } from '../input/filters/filter-test.ts';
import type { Condition, Conditions } from '../input/parse-conditions.ts';
import type { StoredRow } from '../sql/stored-row.ts';
import { slotOf } from '../structure/slots.ts';

/** Whether a record meets the conditions, except those on hashed fields. */
export function rowTest({
  relationship,
  plain,
  others,
}: Omit<Conditions, 'hashed'>): (row: StoredRow) => boolean {
  const tests = [
    ...plain.map((condition) => (row: StoredRow) => meets(condition, row)),
    ...others.map((filter) => filterTest(filter, valueIn)),
  ];
  if (relationship === 'And' || tests.length === 0) return (row) => tests.every((test) => test(row));
  return (row) => tests.some((test) => test(row));
}

export const valueIn: ReadValue<StoredRow> = (target) => (row) => {
  const text = textIn(row, target);
  return text === undefined ? undefined : valueOfText(target, text);
};

function meets({ target, value }: Condition, row: StoredRow): boolean {
  return textIn(row, target) === textOf(value);
}

/** A value as the text that rows store. */
export function textOf(value: Condition['value']): string {
  return value instanceof Date ? value.toISOString() : String(value);
}

/** Equal values have equal texts. */
export function textIn(row: StoredRow, target: Condition['target']): string | undefined {
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
