import type { FilterOperator } from './filter-operators.ts';
import {
  type Digits,
  digitsOf,
  type ParsedValue,
  type ReadValue,
  readArray,
  readAsText,
  readBigint,
  readBoolean,
  readDate,
  readDatetime,
  readDayOrTime,
  readDecimal,
  readFileName,
  readInteger,
  readNumber,
  readObject,
  readRecordTime,
} from './read-value.ts';

/** What the pages know of the values of a column. */
interface ColumnTypeEntry {
  /** In pixels: enough for a cell, and for a filter with its operator. */
  readonly width: number;
  /** The default first. */
  readonly operators: readonly [FilterOperator, ...(readonly FilterOperator[])];
  readonly read: ReadValue;
  readonly readInFilter?: ReadValue;
  /** The condition for values that are as good as none. */
  readonly blank?: readonly [operator: FilterOperator, value: unknown];
  /** The control of a filter for a value, and for the ends of a range. */
  readonly input?: 'date';
  readonly rangeInput?: 'date';
  /** The keyboard of a phone. */
  readonly inputMode?: 'decimal' | 'numeric';
  /** Whether its values have a time of day. */
  readonly hasClock?: true;
}

/** What the pages know of a field type. A new type is a new entry. */
interface FieldTypeEntry extends ColumnTypeEntry {
  /** In the list of types. */
  readonly words: string;
  /** The control of the form: a text of several lines is the only one with an empty value. */
  readonly control: 'lines' | 'line' | 'date' | 'choice' | 'json';
  readonly hint?: (digits: Digits) => string;
  readonly can: readonly ('text' | 'ordered' | 'summed' | 'bucketed')[];
  /** Whether a field says how many digits its values have. */
  readonly hasDigits?: true;
  /** What stored values need to become those of another type; empty: nothing. */
  readonly conversions: Readonly<Record<string, string>>;
  /** In the code of nobox-client; absent: it has no such type. */
  readonly clientType?: string;
}

const ordered = ['gt', 'gte', 'lt', 'lte'] as const;
const presence = ['empty', 'filled'] as const;
const lists = ['in', 'ne', 'nin'] as const;

const toText = { TEXT: '' };
const short = 'Every stored number needs few enough digits.';

const number = {
  width: 210,
  operators: ['eq', 'between', ...ordered, ...lists, ...presence],
  inputMode: 'numeric',
  control: 'line',
  can: ['ordered', 'summed'],
} as const satisfies Partial<FieldTypeEntry>;

const time = {
  width: 340,
  operators: ['between', ...ordered, 'eq', ...lists, ...presence],
  rangeInput: 'date',
  can: ['ordered', 'bucketed'],
  conversions: toText,
} as const satisfies Partial<FieldTypeEntry>;

export const fieldTypes = {
  TEXT: {
    words: 'any text',
    width: 220,
    operators: [
      ...(['eq', 'icontains', 'istartsWith', 'iendsWith'] as const),
      ...[...lists, ...presence, ...ordered],
      ...(['contains', 'startsWith', 'endsWith'] as const),
    ],
    read: readAsText,
    blank: ['eq', ''],
    control: 'lines',
    can: ['text', 'ordered'],
    conversions: {
      NUMBER: 'Every stored text has to be a number, such as 12 or -0.50.',
      BOOLEAN: 'Every stored text has to be true or false.',
      INTEGER: 'Every stored text has to be a whole number, such as 12.',
      BIGINT: 'Every stored text has to be a whole number, such as 12.',
      DECIMAL: 'Every stored text has to be a number with few enough digits, such as 12.30.',
      DATE: 'Every stored text has to be a day, such as 2026-01-31.',
      DATETIME: 'Every stored text has to be a time with a time zone, such as 2026-01-31T12:00:00Z.',
    },
    clientType: 'String',
  },
  NUMBER: {
    ...number,
    words: '36 or 1.5',
    read: readNumber,
    inputMode: 'decimal',
    conversions: { ...toText, INTEGER: 'Every stored number has to be whole.' },
    clientType: 'Number',
  },
  BOOLEAN: {
    words: 'true or false',
    width: 180,
    operators: ['eq', 'ne', ...presence],
    read: readBoolean,
    control: 'choice',
    can: [],
    conversions: toText,
    clientType: 'Boolean',
  },
  ARRAY: {
    words: 'a JSON array',
    width: 220,
    operators: ['eq', 'has', 'hasAny', 'hasAll', 'size', 'ne', ...presence],
    read: readArray,
    blank: ['size', 0],
    control: 'json',
    hint: () => 'JSON, such as ["a", "b"].',
    can: [],
    conversions: {},
    clientType: 'Array',
  },
  OBJECT: {
    words: 'a JSON object',
    width: 260,
    operators: ['eq', 'path', 'ne', ...presence],
    read: readObject,
    control: 'json',
    hint: () => 'JSON, such as {"city": "London"}.',
    can: [],
    conversions: {},
    clientType: 'Object',
  },
  DATETIME: {
    ...time,
    words: 'a time, to the microsecond',
    read: readDatetime,
    readInFilter: readDayOrTime,
    hasClock: true,
    control: 'line',
    hint: () => 'With its zone, such as 2026-01-31T12:00:00Z or 2026-01-31T13:00:00+01:00.',
  },
  DATE: {
    ...time,
    words: 'a day, such as 2026-01-31',
    read: readDate,
    input: 'date',
    control: 'date',
  },
  INTEGER: {
    ...number,
    words: 'a whole number',
    read: readInteger,
    conversions: { ...toText, NUMBER: '', BIGINT: '', DECIMAL: short },
  },
  BIGINT: {
    ...number,
    words: 'a whole number of 64 bits',
    read: readBigint,
    conversions: { ...toText, DECIMAL: short },
  },
  DECIMAL: {
    ...number,
    words: 'exact digits, such as 12.30',
    read: readDecimal,
    inputMode: 'decimal',
    hasDigits: true,
    hint: ({ precision = 0, scale = 0 }) =>
      `At most ${digitsOf(precision)}, ${scale} of them behind the point.`,
    conversions: { ...toText, DECIMAL: short },
  },
  FILE: {
    words: 'an uploaded file',
    width: 220,
    operators: ['eq', ...lists, ...presence],
    read: readFileName,
    control: 'line',
    hint: () => 'The name of an uploaded file. It goes with the last record that names it.',
    can: [],
    conversions: {},
  },
  /** A FILE with `many`. */
  FILES: {
    words: 'a list of uploaded files',
    width: 260,
    operators: ['has', 'hasAny', 'hasAll', 'size', 'eq', 'ne', ...presence],
    read: readArray,
    control: 'json',
    hint: () => 'The names of uploaded files as JSON, such as ["…_a.jpg", "…_b.jpg"].',
    can: [],
    conversions: {},
  },
} as const satisfies Readonly<Record<string, FieldTypeEntry>>;

export type FieldType = keyof typeof fieldTypes;
export type ColumnType = FieldType | 'ID' | 'TIME';

/** What a column has besides its name. */
export interface TypedColumn extends Digits {
  readonly type: ColumnType;
}

/** Fields, and what every record has. */
export const columnTypes: Readonly<Record<ColumnType, ColumnTypeEntry>> = {
  ...fieldTypes,
  ID: { width: 310, operators: ['eq', ...lists, ...ordered], read: readAsText },
  TIME: {
    width: 340,
    operators: ['between', ...ordered, 'eq'],
    read: readRecordTime,
    rangeInput: 'date',
    hasClock: true,
  },
};

export function typeEntry(type: FieldType): FieldTypeEntry {
  return fieldTypes[type];
}

export function typeCan(type: FieldType, ability: FieldTypeEntry['can'][number]): boolean {
  return typeEntry(type).can.includes(ability);
}

/** The types and their words, for a list. */
export const typeOptions = (Object.keys(fieldTypes) as FieldType[]).map(
  (type) => [type, `${type}: ${fieldTypes[type].words}`] as const,
);

/** A field with these digits, if values of its type have any. */
export function withDigitsOf<Of extends { readonly type: FieldType }>(
  { precision, scale }: Digits,
  field: Of,
): Of & Digits {
  const { hasDigits } = typeEntry(field.type);
  return { ...field, precision: hasDigits && precision, scale: hasDigits && scale };
}

/** Parses a typed value of a field. */
export function readText(field: Digits & { readonly type: FieldType }, text: string): ParsedValue {
  return typeEntry(field.type).read(text, field);
}
