import { notUnique } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import type { RecordValues } from '../input/validate-record.ts';
import type { Field, StoredValue } from '../structure/field.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { slotOf } from '../structure/slots.ts';
import type { Structure } from '../structure/structure.ts';
import { valueKey } from './reservation-keys.ts';

/** A value of a unique field that a request wants to store. */
export interface UniqueValue {
  readonly field: Field;
  readonly value: StoredValue;
}

/**
 * All values of unique fields by their reservation key. Records without a value don't count: there may be many.
 * Throws a 400 that names each field of which two records have the same value.
 */
export function collectUniqueValues(
  space: RecordSpace,
  records: readonly RecordValues[],
): ReadonlyMap<string, UniqueValue> {
  const values = new Map<string, UniqueValue>();
  const repeated = new Set<Field>();
  space.structure.fields.forEach((field, index) => {
    if (!field.unique) return;
    for (const record of records) {
      const value = record[index] ?? null;
      if (value === null) continue;
      const key = valueKey(space, field, value);
      if (values.has(key)) repeated.add(field);
      else values.set(key, { field, value });
    }
  });
  if (repeated.size > 0) {
    throw notUnique(
      [...repeated].map(
        ({ name }) =>
          `Field ${shownName(name)} is unique, and two records of the request have the same value`,
      ),
    );
  }
  return values;
}

/** Of the fields whose values have keys in the table of keys. */
export function uniqueSlots({ fields }: Structure): readonly string[] {
  return fields.filter(({ unique }) => unique).map(slotOf);
}

/** The 400 for values that are stored already; each field is named once. */
export function alreadyStored(
  values: ReadonlyMap<string, UniqueValue>,
  keys: Iterable<string>,
): ReturnType<typeof notUnique> {
  const names = new Set([...keys].map((key) => values.get(key)?.field.name ?? key));
  return notUnique(
    [...names].map(
      (name) => `Field ${shownName(name)} is unique, and a record with the same value is stored`,
    ),
  );
}
