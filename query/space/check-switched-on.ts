import { structureConflict } from '../../common/errors/catalogue.ts';
import { shownName } from '../../common/errors/shown-name.ts';
import { valueSql } from '../sql/value-sql.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { Field } from '../structure/field.ts';
import type { RecordSpace } from '../structure/record-space.ts';
import type { Structure } from '../structure/structure.ts';

/** Values that a check may hold in memory before it goes on with files. */
const groupByBytes = 100_000_000;

/** Fields of which a flag that was off is on. */
export function switchedOn(
  before: Structure,
  after: Structure,
  flag: 'required' | 'unique',
): readonly Field[] {
  const bySlug = new Map(before.fields.map((field) => [field.slug, field]));
  return after.fields.filter((field) => field[flag] && bySlug.get(field.slug)?.[flag] === false);
}

/**
 * Throws a 400 that names every field whose stored values stand in the way of a flag that is switched on. A field that
 * is new is not looked at: records that are older than it have no value, as with every new field.
 */
export async function checkSwitchedOn(
  { db, table }: Pick<RecordStore, 'db' | 'table'>,
  { space, after }: { readonly space: RecordSpace; readonly after: Structure },
  signal: AbortSignal,
): Promise<void> {
  const problems: string[] = [];
  for (const field of switchedOn(space.stored, after, 'required')) {
    const where = `${valueSql(field)} IS NULL`;
    const statement = table.select(space.id, { columns: 'toFloat64(count()) AS _missing', where });
    const [row] = await db.rows<{ _missing: number }>({ ...statement, signal, account: space.ownerId });
    const missing = row?._missing ?? 0;
    if (missing > 0) {
      problems.push(
        `Field ${shownName(field.name)} can not become required: ${missing} stored ${missing === 1 ? 'record has' : 'records have'} no value`,
      );
    }
  }
  for (const field of switchedOn(space.stored, after, 'unique')) {
    const value = valueSql(field);
    const statement = table.select(space.id, {
      columns: `toString(${value}) AS _value, toFloat64(count()) AS _times`,
      where: `${value} IS NOT NULL`,
      tail: `GROUP BY ${value} HAVING count() > 1 ORDER BY _times DESC, _value LIMIT 1
       SETTINGS max_bytes_before_external_group_by = ${groupByBytes}`,
    });
    const [row] = await db.rows<{ _value: string; _times: number }>({
      ...statement,
      signal,
      account: space.ownerId,
    });
    if (row !== undefined) {
      problems.push(
        `Field ${shownName(field.name)} can not become unique: ${row._times} stored records have the value ${shownName(row._value)}`,
      );
    }
  }
  if (problems.length > 0) throw structureConflict(problems);
}
