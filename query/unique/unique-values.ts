import type { Database } from '../../common/clickhouse/database.ts';
import { textLiteral } from '../../common/clickhouse/literal.ts';
import { notUnique } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import type { RecordValues } from '../input/validate-record.ts';
import type { RecordsTable } from '../sql/records-table.ts';
import { valueLiteral, valueSql } from '../sql/value-sql.ts';
import type { Field, StoredValue } from '../structure/field.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { valueKey } from './reservation-keys.ts';

/** A value of a unique field that a request wants to store. */
export interface UniqueValue {
  readonly field: Field;
  readonly value: StoredValue;
}

/** Of one IN list: values, and characters of them. */
const chunkValues = 1000;
const chunkCharacters = 1024 * 1024;

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

/** The keys of those values that a stored record has. @param exceptId a record that does not count */
export async function findStored(
  { db, table }: { readonly db: Database; readonly table: RecordsTable },
  space: RecordSpace,
  values: ReadonlyMap<string, UniqueValue>,
  signal: AbortSignal,
  exceptId: string | null = null,
): Promise<ReadonlySet<string>> {
  const others = exceptId === null ? '' : ` AND _id != ${textLiteral(exceptId)}`;
  const byField = new Map<Field, UniqueValue[]>();
  for (const unique of values.values()) {
    const list = byField.get(unique.field) ?? [];
    byField.set(unique.field, list);
    list.push(unique);
  }
  const stored = new Set<string>();
  for (const [field, list] of byField) {
    const column = valueSql(field);
    for (const chunk of chunks(list)) {
      const conditions = chunk.map(({ value }) => ({ target: field, value }));
      const statement = table.select(space.id, {
        columns: `DISTINCT ${column} AS _value`,
        where: `${column} IN (${chunk.map(({ value }) => valueLiteral(value)).join(', ')})${others}`,
        keyed: field.keyed ? conditions : [],
      });
      const rows = await db.rows<{ _value: StoredValue }>({ ...statement, signal });
      for (const { _value } of rows) stored.add(valueKey(space, field, _value));
    }
  }
  return stored;
}

function* chunks(values: readonly UniqueValue[]): Generator<readonly UniqueValue[]> {
  let chunk: UniqueValue[] = [];
  let characters = 0;
  for (const unique of values) {
    chunk.push(unique);
    characters += String(unique.value).length;
    if (chunk.length === chunkValues || characters >= chunkCharacters) {
      yield chunk;
      chunk = [];
      characters = 0;
    }
  }
  if (chunk.length > 0) yield chunk;
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
