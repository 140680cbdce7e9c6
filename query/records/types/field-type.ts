import type { Schema } from '#kernel/json/schema.ts';
import type { Normalization } from './normalize.ts';
import type { ValueOrder } from './value-order.ts';

/** A value as stored: an array or object as its canonical JSON text, other values as they are. */
export type StoredValue = string | number | boolean;

/** A value in its stored form, or its problem as the end of a sentence ("should be a valid number"). */
export type ValueReading = { readonly value: StoredValue } | { readonly problem: string };

/** The part of a field, besides its type, that its values depend on. */
export interface ValueOptions {
  /** Of a TEXT. */
  readonly normalize?: readonly Normalization[] | undefined;
  /** Of a DECIMAL: the most digits, and how many of them are behind the point. */
  readonly precision?: number;
  readonly scale?: number;
  /** Of a request that makes days times: where the days begin. Not stored. */
  readonly timeZone?: string;
  /** Of a FILE: the base of the addresses of the project's files. Not stored. */
  readonly links?: string;
}

/** A value as it is compared in memory: the times of records as milliseconds. */
export type Comparable = string | number | boolean | bigint;

/**
 * What values of a kind can be used for. Operators, functions and options name the ability that they need, so that
 * neither they nor a new type have to know each other.
 */
export type Ability =
  /** To be looked for in a list of values. */
  | 'listed'
  /** To be greater or less than another value. */
  | 'ordered'
  /** To be added up. */
  | 'summed'
  /** To be divided into stretches of time. */
  | 'bucketed'
  /** To be shown by the clocks of a time zone. */
  | 'zoned'
  /** To contain texts. */
  | 'text'
  /** To have elements. */
  | 'elements'
  /** To have values at paths such as `home.city`. */
  | 'paths';

/** A kind of values that conditions distinguish: a field type, or what has no declared type. */
export interface ValueKind {
  /** It in a sentence: "a TEXT". */
  readonly words: string;
  /** Part of the names of schemas: "Text". */
  readonly title: string;
  readonly can: readonly Ability[];
  /** Whether the engine has a value as JSON text. */
  readonly isJson: boolean;
}

/** How values become those of another type, over records that have one. */
export interface Conversion {
  /** SQL for whether a value can be converted. */
  readonly fits: string;
  /** The new value as text for `_doc`, and for the column of a slot that is one. */
  readonly text: string;
  readonly column: string;
  /** What the request has to say for values to be converted. */
  readonly needs?: string;
}

/** @param text SQL for the stored text @param to of the new field */
export type Convert = (text: string, from: ValueOptions, to: ValueOptions) => Conversion;

/** The columns of the records table for values of a type (structure/slots.ts). */
export type ColumnKind = 'n' | 't' | 'b' | 'i';

/** How a change of a record adds to a stored value. */
export interface Addition {
  /** What may be added, where not every value of the type may. */
  readonly most?: number;
  /** The engine's type of sums, which holds any two values of the field's. */
  readonly engineType: 'Float64' | 'Int256';
  /** The sum as its stored text; null: it is no value of the field. @param stored absent: 0 */
  readonly sum: (stored: string | undefined, by: StoredValue, options: ValueOptions) => string | null;
  /** SQL for whether a sum is a value of the field; absent: it always is. */
  readonly fits?: (sum: string, options: ValueOptions) => string;
  /** SQL for a sum as its stored text. */
  readonly textSql: (sum: string, options: ValueOptions) => string;
}

/** All that a field type is. A new type is a new entry of the table (CONTRIBUTING.md). */
export interface FieldTypeEntry extends ValueKind {
  /** A valid value in a sentence: "should be a valid string". */
  readonly valid: string;
  /** Reads a value of parsed JSON, other than null, as it is stored and compared. */
  readonly read: (value: unknown, options: ValueOptions) => ValueReading;
  /** Reads the text of a query parameter (interface.md section 2.2 rule 1). */
  readonly readText: (text: string, options: ValueOptions) => ValueReading;
  /** For JSON: a value in a query. */
  readonly inQuery?: string;
  /** How its values stand in the cells of CSV: as they are, as numbers and words for booleans, or as JSON. */
  readonly cell: 'text' | 'number' | 'digits' | 'boolean' | 'json';
  /**
   * Its values name files, one or a list: then answers have `fileText` of the value (types/file.ts). A structure declares
   * both as the type of one, and a list by `many`.
   */
  readonly files?: 'one' | 'many';
  /** Whether its fields say how many digits their values have. */
  readonly hasDigits?: true;
  /** Whether an empty text, as forms send it, means no value where none is required. */
  readonly emptyIsMissing?: true;
  /** Whether a value of parsed JSON without a declared type is of this one. */
  readonly infers: (value: unknown) => boolean;
  /** Whether answers quote the stored text; otherwise it is JSON already. */
  readonly isQuoted: boolean;
  /** The stored text of a value, as it is compared in memory. */
  readonly comparable: (text: string) => Comparable;
  readonly order: ValueOrder;
  /** Whether there are so few different values that comparing one finds little. */
  readonly hasFewValues?: true;
  /** Null: its values are only in the map of all values. */
  readonly column: (options: ValueOptions) => ColumnKind | null;
  /** The type of its values in the engine. */
  readonly engineType: 'String' | 'Float64' | 'Bool' | 'Int64' | 'Int128';
  /**
   * SQL for the stored text as a value of that type. Any text has to have one: the engine also evaluates the expression for
   * records of other spaces, whose slot of this name may be of another type.
   */
  readonly castSql: (text: string) => string;
  /** A literal for a value. */
  readonly literal: (value: StoredValue) => string;
  /** The text of which the engine makes the value by CAST; absent: the stored text. */
  readonly castText?: (value: string) => string;
  /** SQL for a value of the engine as its stored text; absent: the engine shows it as it is. */
  readonly textSql?: (value: string, options: ValueOptions) => string;
  /** SQL for a value of the engine as Parquet and Arrow have it; absent: as the engine has it. */
  readonly tableSql?: (value: string, options: ValueOptions) => string;
  /** The stored text of a value that the engine answers as digits; with `textSql`. */
  readonly textOfDigits?: (digits: string, options: ValueOptions) => string;
  /** Whether sums and averages have all their digits. */
  readonly isExact?: true;
  /** SQL for a value of the engine as JSON text. */
  readonly jsonSql: (value: string, options: ValueOptions) => string;
  readonly schema: Schema;
  /** Of its values in answers; absent: the same. */
  readonly answerSchema?: Schema;
  readonly example: unknown;
  /** How values become those of other types, only where nothing is lost. */
  readonly conversions: Readonly<Record<string, Convert>>;
  /** Absent: changes do not add to its values. */
  readonly addition?: Addition;
  /** The value of `$now` in rules; absent: its text in ISO 8601. */
  readonly now?: (now: Date) => StoredValue;
}

/** A conversion that keeps the stored text. @param text SQL for it */
export function asStored(text: string): Conversion {
  return { fits: '1', text, column: text };
}

export function misfit(valid: string, reason?: string): { readonly problem: string } {
  return { problem: `should be a valid ${valid}${reason === undefined ? '' : `: ${reason}`}` };
}
