import type { Field, FieldType } from '../projects/structure.ts';

export type ColumnType = FieldType | 'ID' | 'TIME';

/** A column of the table: a field that is not hashed, or a system field. */
export interface GridColumn {
  readonly name: string;
  readonly type: ColumnType;
  /** In pixels. */
  readonly width: number;
}

/** Widths of columns: enough for a cell, and for a filter with its operator. */
const widths: Readonly<Record<ColumnType, number>> = {
  TEXT: 220,
  NUMBER: 210,
  BOOLEAN: 180,
  ARRAY: 220,
  OBJECT: 260,
  ID: 310,
  TIME: 340,
};

export function gridColumns(fields: readonly Field[]): readonly GridColumn[] {
  const own = fields.filter(({ hashed }) => !hashed).map(({ name, type }) => ({ name, type }));
  return [...own, ...systemColumns].map((column) => ({ ...column, width: widths[column.type] }));
}

const systemColumns = [
  { name: 'createdAt', type: 'TIME' },
  { name: 'updatedAt', type: 'TIME' },
  { name: 'id', type: 'ID' },
] as const;

/** The type of a field, even a hashed one, which has no column; undefined: no such field. */
export function columnType(name: string, fields: readonly Field[]): ColumnType | undefined {
  return [...fields, ...systemColumns].find((column) => column.name === name)?.type;
}
