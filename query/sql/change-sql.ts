import { quoteIdentifier, textLiteral } from '../../common/clickhouse/literal.ts';
import { timestampText } from '../../common/control/row-values.ts';
import type { StoredValue } from '../structure/field.ts';

/** The new value of one column. */
export interface Assignment {
  /** Quoted. */
  readonly column: string;
  /** Of the column, without Nullable. */
  readonly type: string;
  readonly value: StoredValue | null;
}

/** What an UPDATE sets for one record; all records of a statement have the same columns in the same order. */
export interface RowUpdate {
  readonly id: string;
  readonly assignments: readonly Assignment[];
}

/**
 * One lightweight UPDATE for many records: each column takes its value by the record's place in the list of ids.
 * It names no column but those that change, so that what others change meanwhile stays
 * (docs/decisions/003-updates.md). `_updated_at` always grows, also when the clock stands still or goes back.
 */
export function updateSql(table: string, rows: readonly RowUpdate[], now: Date): string {
  const ids = idList(rows.map(({ id }) => id));
  const columns = rows[0]?.assignments ?? [];
  const settings = columns.map(({ column, type }, index) => {
    const values = rows.map(({ assignments }) => valueText(assignments[index]?.value ?? null));
    // read from text, a number is the very double that was written
    return `${column} = CAST([${values.join(', ')}], 'Array(Nullable(${type}))')[indexOf([${ids}], _id)]`;
  });
  const time = `toDateTime64(${textLiteral(timestampText(now))}, 3, 'UTC')`;
  settings.push(`_updated_at = greatest(${time}, addMilliseconds(_updated_at, 1))`);
  return `UPDATE ${table} SET ${settings.join(', ')} WHERE _id IN (${ids})`;
}

/**
 * The mode is named because the default one is a mutation: it takes longer, and a mutation loses an update that runs
 * beside it (docs/decisions/003-updates.md).
 */
export function removeSql(table: string, ids: readonly string[]): string {
  return `DELETE FROM ${table} WHERE _id IN (${idList(ids)}) SETTINGS lightweight_delete_mode = 'lightweight_update_force'`;
}

export function assignment(slug: string, type: string, value: StoredValue | null): Assignment {
  return { column: quoteIdentifier(slug), type, value };
}

function idList(ids: readonly string[]): string {
  return ids.map(textLiteral).join(', ');
}

function valueText(value: StoredValue | null): string {
  return value === null ? 'NULL' : textLiteral(String(value));
}
