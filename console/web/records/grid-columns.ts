import type { Field, FieldType } from '../projects/structure.ts';

/** A column of the table: a field that is not hashed, or one of the service's own. */
export interface GridColumn {
  readonly name: string;
  readonly type: FieldType | 'ID' | 'TIME';
  /** In pixels. */
  readonly width: number;
}

const widths: Readonly<Record<GridColumn['type'], number>> = {
  TEXT: 220,
  NUMBER: 130,
  BOOLEAN: 110,
  ARRAY: 220,
  OBJECT: 260,
  ID: 310,
  TIME: 210,
};

export function gridColumns(fields: readonly Field[]): readonly GridColumn[] {
  const own = fields
    .filter(({ hashed }) => !hashed)
    .map(({ name, type }) => ({ name, type, width: widths[type] }));
  return [
    ...own,
    { name: 'createdAt', type: 'TIME', width: widths.TIME },
    { name: 'updatedAt', type: 'TIME', width: widths.TIME },
    { name: 'id', type: 'ID', width: widths.ID },
  ];
}
