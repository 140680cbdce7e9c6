import { bigint } from './bigint.ts';
import { boolean } from './boolean.ts';
import { date } from './date.ts';
import { datetime } from './datetime.ts';
import { decimal } from './decimal.ts';
import type {
  Ability,
  FieldTypeEntry,
  StoredValue,
  ValueKind,
  ValueOptions,
  ValueReading,
} from './field-type.ts';
import { file, files } from './file.ts';
import { integer } from './integer.ts';
import { array, object } from './nested.ts';
import { number } from './number.ts';
import { text } from './text.ts';

/** The field types, in the order in which they are listed. A new type is a new entry (CONTRIBUTING.md). */
export const fieldTypes = {
  TEXT: text,
  NUMBER: number,
  BOOLEAN: boolean,
  ARRAY: array,
  OBJECT: object,
  DATETIME: datetime,
  DATE: date,
  INTEGER: integer,
  BIGINT: bigint,
  DECIMAL: decimal,
  FILE: file,
  /** Declared as FILE, with `many`. */
  FILES: files,
} as const satisfies Readonly<Record<string, FieldTypeEntry>>;

export type FieldType = keyof typeof fieldTypes;

const allTypes = Object.keys(fieldTypes) as readonly FieldType[];
/** The types that a structure may declare. */
export const typeNames: readonly FieldType[] = allTypes.filter((type) => typeEntry(type).files !== 'many');

/** The type of an id, for those who store it in a field. */
export const typeOfIds: FieldType = 'TEXT';

/** Of fields that the service itself reads and writes, as for sign-up. */
export const typeOfTexts: FieldType = 'TEXT';
export const typeOfFlags: FieldType = 'BOOLEAN';

/** The type of numbers that functions compute. */
export const typeOfResults: FieldType = 'NUMBER';
export const typeOfExactResults: FieldType = 'DECIMAL';

/** The part of a field that says how its values are read. */
export interface TypedField extends ValueOptions {
  readonly type: FieldType;
}

/** Values that have no declared type. */
export const otherKinds = {
  id: { words: 'an id', title: 'Id', can: ['listed', 'ordered'], isJson: false },
  time: { words: 'a time', title: 'Time', can: ['listed', 'ordered', 'bucketed', 'zoned'], isJson: false },
  path: { words: 'a value within an OBJECT', title: 'Path', can: ['listed'], isJson: true },
} as const satisfies Readonly<Record<string, ValueKind>>;

/** Whether the values of two fields are the same. Normalizations are no part of the type. */
export function isSameType(one: TypedField, other: TypedField): boolean {
  return one.type === other.type && one.precision === other.precision && one.scale === other.scale;
}

/** The type that a structure declares for a list of files. */
const typeOfMany = { FILE: 'FILES' } as const;

/** A field's type as a structure declares it, and its `many`. */
export function declaredType(type: FieldType): { readonly type: FieldType; readonly many?: true } {
  return type === typeOfMany.FILE ? { type: 'FILE', many: true } : { type };
}

/** The type of a list of values of a type; undefined: there are no such lists. */
export function manyOf(type: FieldType): FieldType | undefined {
  return type === 'FILE' ? typeOfMany[type] : undefined;
}

/** A type in messages, with its digits. */
export function typeText({ type, precision, scale }: TypedField): string {
  const { type: declared, many } = declaredType(type);
  if (many) return `${declared} with many`;
  return precision === undefined ? type : `${type}(${precision}, ${scale})`;
}

export function typeEntry(type: FieldType): FieldTypeEntry {
  return fieldTypes[type];
}

export function typeCan(type: FieldType, ability: Ability): boolean {
  return typeEntry(type).can.includes(ability);
}

/** The types whose values have an ability. */
export function typesThat(ability: Ability): readonly FieldType[] {
  return typeNames.filter((type) => typeCan(type, ability));
}

/** Whether a value of parsed JSON is stored as it is. `readFieldValue` would make an object for each. */
export function isPlainValue({ type, normalize }: TypedField, value: unknown): value is StoredValue {
  switch (typeof value) {
    case 'string':
      return type === 'TEXT' && normalize === undefined && value.isWellFormed();
    case 'number':
      // -0 is stored as 0
      return type === 'NUMBER' && value !== 0 && Number.isFinite(value);
    case 'boolean':
      return type === 'BOOLEAN';
    default:
      return false;
  }
}

/** Reads a value of parsed JSON, other than null, as its field stores and compares it. */
export function readFieldValue(field: TypedField, value: unknown): ValueReading {
  return typeEntry(field.type).read(value, field);
}

/** The type of a value of parsed JSON; null: it has none. */
export function inferredType(value: unknown): FieldType | null {
  return typeNames.find((type) => typeEntry(type).infers(value)) ?? null;
}
