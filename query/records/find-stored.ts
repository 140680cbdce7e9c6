import { textLiteral } from '../../common/clickhouse/literal.ts';
import { forEachYielding } from '../../common/limits/yielding-loop.ts';
import { valueLiteral, valueSql } from '../sql/value-sql.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { Field, StoredValue } from '../structure/field.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import { slotOf } from '../structure/slots.ts';
import { valueKey } from '../unique/reservation-keys.ts';
import type { UniqueValue } from './unique-values.ts';

/** So few are looked up with those of other requests; more have statements of their own. */
const fewValues = 16;
/** Of one IN list: values, and characters of them. */
const chunkValues = 1000;
const chunkCharacters = 1024 * 1024;

/** The keys of those values that a stored record has. @param exceptId a record that does not count */
export async function findStored(
  store: RecordStore,
  space: RecordSpace,
  values: ReadonlyMap<string, UniqueValue>,
  signal: AbortSignal,
  exceptId: string | null = null,
): Promise<ReadonlySet<string>> {
  const stored = new Set<string>();
  const byField = new Map<Field, UniqueValue[]>();
  const sort = (unique: UniqueValue): void => {
    const { field, hash } = unique;
    if (field.keyed && !store.keys.mayHave(space.id, hash)) return;
    const list = byField.get(field);
    if (list === undefined) byField.set(field, [unique]);
    else list.push(unique);
  };
  await forEachYielding([...values.values()], sort, signal);
  if (byField.size === 0) return stored;
  await Promise.all(
    [...byField].map(([field, list]) => {
      const few = field.keyed && list.length <= fewValues;
      const find = few
        ? lookUp(store, space, list, signal, exceptId)
        : search(store, space, list, signal, exceptId);
      return find.then((found) => {
        for (const value of found) stored.add(valueKey(space, field, value));
      });
    }),
  );
  return stored;
}

async function lookUp(
  store: RecordStore,
  space: RecordSpace,
  list: readonly UniqueValue[],
  signal: AbortSignal,
  exceptId: string | null,
): Promise<readonly StoredValue[]> {
  const found = await Promise.all(
    list.map(async ({ field, value }) => {
      const rows = await store.lookUp(space, { slot: slotOf(field), value }, signal);
      return rows.some(({ _id }) => _id !== exceptId) ? [value] : [];
    }),
  );
  return found.flat();
}

async function search(
  { db, table }: RecordStore,
  space: RecordSpace,
  list: readonly UniqueValue[],
  signal: AbortSignal,
  exceptId: string | null,
): Promise<readonly StoredValue[]> {
  const field = (list[0] as UniqueValue).field;
  const others = exceptId === null ? '' : ` AND _id != ${textLiteral(exceptId)}`;
  const column = valueSql(field);
  const found: StoredValue[] = [];
  for (const chunk of chunks(list)) {
    const conditions = chunk.map(({ value }) => ({ target: field, value }));
    const statement = table.select(space.id, {
      columns: `DISTINCT ${column} AS _value`,
      where: `${column} IN (${chunk.map(({ value }) => valueLiteral(value)).join(', ')})${others}`,
      keyed: field.keyed ? conditions : [],
    });
    const rows = await db.rows<{ _value: StoredValue }>({ ...statement, signal });
    for (const { _value } of rows) found.push(_value);
  }
  return found;
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
