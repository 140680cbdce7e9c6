import { type Field, type FieldType, fieldSlug } from '../projects/structure.ts';
import { isSystemColumn } from './import-rows.ts';
import type { ImportPreview } from './import-source.ts';

const longestName = 200;
/** As the API takes texts as numbers when it changes a type: `007` and `1e3` are texts. */
const numeric = /^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/;

/** Fields for the columns of a file, by the values of its first rows. A column without a name, or with one of ours, gets none. */
export function inferFields({ columns, rows }: ImportPreview): readonly Field[] {
  const fields: Field[] = [];
  for (const [index, column] of columns.entries()) {
    const name = column.trim();
    const slug = fieldSlug(name);
    const taken = fields.some((field) =>
      [field.name, field.slug].some((word) => word === name || word === slug),
    );
    if (name === '' || name.length > longestName || taken || isSystemColumn(name)) continue;
    const values = rows.map(({ cells, record }) =>
      cells === undefined ? Object.entries(record ?? {}).find(([key]) => key === column)?.[1] : cells[index],
    );
    const types = new Set(values.map(typeOf).filter((type) => type !== null));
    const [type = 'TEXT'] = types;
    fields.push({
      name,
      slug,
      type: types.size > 1 ? 'TEXT' : type,
      required: false,
      unique: false,
      hashed: false,
    });
  }
  return fields;
}

/** Null: it has none. */
function typeOf(value: unknown): FieldType | null {
  if (value === null || value === undefined || value === '') return null;
  if (typeof value === 'number') return 'NUMBER';
  if (typeof value === 'boolean') return 'BOOLEAN';
  if (typeof value === 'object') return Array.isArray(value) ? 'ARRAY' : 'OBJECT';
  const text = String(value);
  if (numeric.test(text)) return 'NUMBER';
  if (text === 'true' || text === 'false') return 'BOOLEAN';
  if (!/^[[{]/.test(text)) return 'TEXT';
  try {
    return Array.isArray(JSON.parse(text)) ? 'ARRAY' : 'OBJECT';
  } catch {
    return 'TEXT';
  }
}
