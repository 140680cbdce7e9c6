import { quoteIdentifier } from '#engine/literal.ts';
import type { Field } from '../structure/field.ts';
import { typeEntry } from '../types/field-types.ts';
import type { RecordsTable } from './records-table.ts';
import { valueSql } from './value-sql.ts';

/** A value with the type that Parquet has, too: a time or a decimal, and not the whole number in its column. */
function viewedSql(field: Field): string {
  const { engineType, tableSql } = typeEntry(field.type);
  const value = valueSql(field);
  return tableSql?.(value, field) ?? `CAST(${value}, 'Nullable(${engineType})')`;
}

/**
 * A SELECT of a space's records for people: columns by the names of fields, with their types; ARRAY and OBJECT as JSON
 * text, and hashed fields not at all.
 *
 * A field may have the name of a column, such as `space` or `t0`, and the engine takes a name for the alias rather
 * than for the column. The records are therefore read by names with a prefix that no field has, and renamed outside.
 */
export function spaceViewSql(
  table: Pick<RecordsTable, 'select'>,
  spaceId: string,
  fields: readonly Field[],
): string {
  const shown = fields.filter(({ hashed }) => !hashed);
  let prefix = 'value_';
  while (shown.some(({ name }) => name.startsWith(prefix))) prefix += '_';
  const columns = [
    { name: 'id', expression: '_id' },
    ...shown.map((field) => ({
      name: field.name,
      expression: viewedSql(field),
    })),
    { name: 'createdAt', expression: '_created_at' },
    { name: 'updatedAt', expression: '_updated_at' },
  ];
  const inner = columns.map(({ expression }, index) => `${expression} AS ${prefix}${index}`);
  const outer = columns.map(({ name }, index) => `${prefix}${index} AS ${quoteIdentifier(name)}`);
  return `SELECT ${outer.join(', ')} FROM (${table.select(spaceId, { columns: inner.join(', ') }).sql})`;
}
