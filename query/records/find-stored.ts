import { exceededLimit } from '#engine/exceeded-limit.ts';
import { textLiteral } from '#engine/literal.ts';
import { forEachYielding } from '#kernel/limits/yielding-loop.ts';
import type { Selection } from './sql/records-table.ts';
import { columnType, listSql, valueSql } from './sql/value-sql.ts';
import { addToList } from './store/add-to-list.ts';
import type { RecordStore } from './store/record-store.ts';
import type { Field } from './structure/field.ts';
import type { RecordSpace } from './structure/record-space.ts';
import { kindOf, slotOf } from './structure/slots.ts';
import type { StoredValue } from './types/field-type.ts';
import { typeEntry } from './types/field-types.ts';
import { valueKey } from './unique/reservation-keys.ts';
import type { UniqueValue } from './unique-values.ts';

/** Up to this many values share look-ups with other requests; more get separate statements. */
const fewValues = 16;
/** Most values of a statement that finds them by the index, and of one that reads the column. */
const most = { byIndex: 1000, inColumn: 10_000 };
/** Of the values of a statement. */
const mostCharacters = 1024 * 1024;
/** From this many values on, the column is read. */
const fewestInColumn = 200;
/**
 * Records of a space, a value looked for, up to which reading their column costs the engine less than the index does, and
 * the bytes of their column (docs/decisions/091-bulk.md#unique-values-on-a-server).
 */
const recordsPerValue = 500;
const bytesPerValue = 64 * recordsPerValue;

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
  const run = async (field: Field, selection: Selection): Promise<void> => {
    const rows = await store.db.rows<{ _value: StoredValue }>({
      ...store.table.select(space.id, selection),
      signal,
    });
    for (const { _value } of rows) stored.add(valueKey(space, field, _value));
  };
  const search = async (field: Field, list: readonly UniqueValue[]): Promise<void> => {
    try {
      if (list.length >= fewestInColumn && hasColumn(field)) {
        for (const chunk of chunks(list, most.inColumn)) await run(field, inColumn(field, chunk, exceptId));
        return;
      }
    } catch (error) {
      if (exceededLimit(error)?.of !== 'rows') throw error;
    }
    for (const chunk of chunks(list, most.byIndex)) await run(field, byIndex(field, chunk, exceptId));
  };
  await Promise.all(
    [...byField].flatMap(([field, list]) =>
      field.keyed && list.length <= fewValues ? list.map(lookUp) : search(field, list),
    ),
  );
  return stored;
}

function hasColumn(field: Field): boolean {
  const kind = kindOf(slotOf(field));
  return kind !== 'h' && kind !== 'm';
}

function selectionOf(field: Field, values: readonly UniqueValue[], exceptId: string | null) {
  const column = valueSql(field);
  const others = exceptId === null ? '' : ` AND _id != ${textLiteral(exceptId)}`;
  const list = listSql(
    columnType(field),
    values.map(({ value }) => value),
  );
  return {
    columns: `DISTINCT ${typeEntry(field.type).textSql?.(column, field) ?? column} AS _value`,
    where: `${column} IN ${list}${others}`,
  };
}

/** Fails if the space is too large for it. */
function inColumn(field: Field, values: readonly UniqueValue[], exceptId: string | null): Selection {
  const [records, bytes] = [values.length * recordsPerValue, values.length * bytesPerValue];
  const tail = `SETTINGS max_rows_to_read = ${records}, max_bytes_to_read = ${bytes}`;
  return { ...selectionOf(field, values, exceptId), tail };
}

function byIndex(field: Field, values: readonly UniqueValue[], exceptId: string | null): Selection {
  const indexed = values.map(({ value }) => ({ target: field, value }));
  return { ...selectionOf(field, values, exceptId), indexed };
}

/** @param mostValues of a chunk */
function* chunks(values: readonly UniqueValue[], mostValues: number): Generator<readonly UniqueValue[]> {
  let chunk: UniqueValue[] = [];
  let characters = 0;
  for (const unique of values) {
    chunk.push(unique);
    characters += String(unique.value).length;
    if (chunk.length === mostValues || characters >= mostCharacters) {
      yield chunk;
      chunk = [];
      characters = 0;
    }
  }
  if (chunk.length > 0) yield chunk;
}
