import { notUnique } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import { forEachYielding } from '#kernel/limits/yielding-loop.ts';
import type { RecordValues } from './input/validate-record.ts';
import type { KeyOfRecord } from './sql/new-record.ts';
import { hashOf } from './sql/record-keys.ts';
import type { Field } from './structure/field.ts';
import type { RecordSpace } from './structure/record-space.ts';
import { slotOf } from './structure/slots.ts';
import type { StoredValue } from './types/field-type.ts';
import { valueKey } from './unique/reservation-keys.ts';

/** A value of a unique field that a request wants to store. */
export interface UniqueValue extends KeyOfRecord {
  readonly field: Field;
  readonly value: StoredValue;
}

/**
 * All values of unique fields by their reservation key. Records without a value don't count: there may be many.
 * Rejects with a 400 that names each field in which two records have the same value.
 */
export async function collectUniqueValues(
  space: RecordSpace,
  records: readonly RecordValues[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, UniqueValue>> {
  const values = new Map<string, UniqueValue>();
  const repeated = new Set<Field>();
  const { fields } = space.structure;
  for (let place = 0; place < fields.length; place++) {
    const field = fields[place] as Field;
    if (!field.unique) continue;
    const slot = slotOf(field);
    await forEachYielding(
      records,
      (record, index) => {
        const value = record[place] ?? null;
        if (value === null) return;
        const key = valueKey(space, field, value);
        if (values.has(key)) repeated.add(field);
        else values.set(key, { field, value, hash: hashOf(slot, value), index });
      },
      signal,
    );
  }
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

/** The 400 for values that are stored already; each field is named once. */
export function alreadyStored(
  values: ReadonlyMap<string, UniqueValue>,
  keys: Iterable<string>,
): ReturnType<typeof notUnique> {
  const names = new Set([...keys].map((key) => values.get(key)?.field.name ?? key));
  return notUnique([...names].map((name) => `A record with this ${shownName(name)} already exists`));
}
