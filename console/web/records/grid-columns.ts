import type { Field } from '../projects/structure.ts';
import { type ColumnType, columnTypes, type TypedColumn } from './field-types.ts';

/** A column of the table: a field that is not hashed, or a system field. */
export interface GridColumn {
  readonly name: string;
  readonly type: ColumnType;
  /** In pixels. */
  readonly width: number;
}

export function gridColumns(fields: readonly Field[]): readonly GridColumn[] {
  const own = fields.filter(({ hashed }) => !hashed).map(({ name, type }) => ({ name, type }));
  return [...own, ...systemColumns].map((column) => ({ ...column, width: columnTypes[column.type].width }));
}

const systemColumns = [
  { name: 'createdAt', type: 'TIME' },
  { name: 'updatedAt', type: 'TIME' },
  { name: 'id', type: 'ID' },
] as const;

/** A field, even a hashed one, which has no column, or a system field; undefined: no such field. */
export function columnOf(name: string, fields: readonly Field[]): TypedColumn | undefined {
  return [...fields, ...systemColumns].find((column) => column.name === name);
}
