import { textLiteral } from '#engine/literal.ts';
import { forEachYielding } from '#kernel/limits/yielding-loop.ts';
import type { Selection } from './sql/records-table.ts';
import { columnType, valueLiteral, valueSql } from './sql/value-sql.ts';
import { addToList } from './store/add-to-list.ts';
import type { RecordStore } from './store/record-store.ts';
import type { Field } from './structure/field.ts';
import type { RecordSpace } from './structure/record-space.ts';
import { slotOf } from './structure/slots.ts';
import type { StoredValue } from './types/field-type.ts';
import { typeEntry } from './types/field-types.ts';
import { valueKey } from './unique/reservation-keys.ts';
import type { UniqueValue } from './unique-values.ts';

/** Up to this many values share look-ups with other requests; more get separate statements. */
const fewValues = 16;
/** Values of one IN list, and their characters. */
const chunkValues = 1000;
const chunkCharacters = 1024 * 1024;

/** The keys of values that are stored already. @param exceptId a record to ignore */
export async function findStored(
  store: RecordStore,
  space: RecordSpace,
  values: ReadonlyMap<string, UniqueValue>,
  signal: AbortSignal,
  exceptId: string | null = null,
): Promise<ReadonlySet<string>> {
  const byField = new Map<Field, UniqueValue[]>();
  await forEachYielding(
    [...values.values()],
    (unique) => {
      const { field, hash } = unique;
      if (!field.keyed || store.keys.mayHave(space.id, hash)) addToList(byField, field, unique);
    },
    signal,
  );
  const stored = new Set<string>();
  if (byField.size === 0) return stored;
  const lookUp = async ({ field, value }: UniqueValue): Promise<void> => {
    const rows = await store.lookUp(space, { slot: slotOf(field), value }, signal);
    if (rows.some(({ _id }) => _id !== exceptId)) stored.add(valueKey(space, field, value));
  };
  const search = async (field: Field, list: readonly UniqueValue[]): Promise<void> => {
    for (const chunk of chunks(list)) {
      const statement = store.table.select(space.id, selectionOf(field, chunk, exceptId));
      const rows = await store.db.rows<{ _value: StoredValue }>({ ...statement, signal });
      for (const { _value } of rows) stored.add(valueKey(space, field, _value));
    }
  };
  await Promise.all(
    [...byField].flatMap(([field, list]) =>
      field.keyed && list.length <= fewValues ? list.map(lookUp) : search(field, list),
    ),
  );
  return stored;
}

function selectionOf(field: Field, values: readonly UniqueValue[], exceptId: string | null): Selection {
  const column = valueSql(field);
  const others = exceptId === null ? '' : ` AND _id != ${textLiteral(exceptId)}`;
  return {
    columns: `DISTINCT ${typeEntry(field.type).textSql?.(column, field) ?? column} AS _value`,
    where: `${column} IN (${values.map(({ value }) => valueLiteral(columnType(field), value)).join(', ')})${others}`,
    indexed: values.map(({ value }) => ({ target: field, value })),
  };
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
