import type { Normalization } from './normalize.ts';

export const fieldTypes = ['TEXT', 'NUMBER', 'BOOLEAN', 'ARRAY', 'OBJECT'] as const;
export type FieldType = (typeof fieldTypes)[number];

/** A value as it is stored: ARRAY and OBJECT are their canonical JSON text, the others are themselves. */
export type StoredValue = string | number | boolean;

/** One field of a record space's structure (interface.md section 2.2). */
export interface Field {
  /** Its key in answers. */
  readonly name: string;
  /** Unique among the fields of its space. */
  readonly slug: string;
  readonly type: FieldType;
  readonly required: boolean;
  readonly unique: boolean;
  readonly hashed: boolean;
  /** Of a TEXT, in the order of `normalizations`; undefined: its values are stored as they come. */
  readonly normalize?: readonly Normalization[] | undefined;
  readonly description: string;
  readonly comment: string;
  readonly defaultValue: StoredValue | null;
  /** Where its values lie in the records table (slots.ts). Null: as a request declares it, before it is stored. */
  readonly slot: string | null;
  /** Every stored value of it has its key in the table of keys; only of a unique field. */
  readonly keyed: boolean;
  /** Of a request that rules bind: it is written, and neither shown nor compared. */
  readonly hidden?: true;
  /** Of such a request: rules give new records its value. */
  readonly filled?: true;
}

/** Keys of every record that are not fields; no field may be called so. */
export const systemKeys = ['id', 'createdAt', 'updatedAt'] as const;
export type SystemKey = (typeof systemKeys)[number];

/** Slots never start with `_`, so these columns never clash with one. */
export const systemColumns: Readonly<Record<SystemKey, string>> = {
  id: '_id',
  createdAt: '_created_at',
  updatedAt: '_updated_at',
};

export function isSystemKey(key: string): key is SystemKey {
  return (systemKeys as readonly string[]).includes(key);
}

/** The target of conditions and sorts: a field of the structure, or a key that every record has. */
export type Target = Field | SystemKey;
