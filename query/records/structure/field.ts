import type { StoredValue } from '../types/field-type.ts';
import type { FieldType } from '../types/field-types.ts';
import type { Normalization } from '../types/normalize.ts';

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
  /** For a TEXT, in the order of `normalizations`; undefined: its values are stored as received. */
  readonly normalize?: readonly Normalization[] | undefined;
  /** Of a DECIMAL: the most digits, and how many of them are behind the point. */
  readonly precision?: number;
  readonly scale?: number;
  /** Of a request that makes a DATE a DATETIME: where its days begin. Not stored. */
  readonly timeZone?: string;
  /** Of a FILE: the base of the addresses of the project's files. Not stored. */
  readonly links?: string;
  readonly description: string;
  readonly comment: string;
  readonly defaultValue: StoredValue | null;
  /** Where the records table stores its values (slots.ts). Null: declared by a request, and not stored yet. */
  readonly slot: string | null;
  /** Whether all its stored values have keys in the table of keys; only for a unique field. */
  readonly keyed: boolean;
  /** For a request bound by rules: it can be written, but neither shown nor compared. */
  readonly hidden?: true;
  /** For such a request: rules set its value in new records. */
  readonly filled?: true;
}

/** Keys of every record that are not fields. No field may have such a name. */
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
