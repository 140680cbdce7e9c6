/** The types of fields, and the types of their values. */
export interface ValuesOfTypes {
  TEXT: string;
  NUMBER: number;
  BOOLEAN: boolean;
  ARRAY: readonly unknown[];
  OBJECT: Readonly<Record<string, unknown>>;
  /** ISO 8601 in UTC, with three digits of a second or six. A Date, which has milliseconds alone, may be sent. */
  DATETIME: string;
  /** Such as `2026-01-31`. */
  DATE: string;
  INTEGER: number;
  BIGINT: bigint;
  /** Such as `12.30`, with the digits of its field. */
  DECIMAL: string;
  FILE: FileValue | readonly FileValue[];
}

/** A file of the project that a record names. To store it, its name is enough. */
export interface FileValue {
  readonly name: string;
  readonly s3Link: string;
  readonly contentType: string;
  readonly size: number;
  /** Pixels, as shown, of pictures and videos where they are known. */
  readonly width?: number;
  readonly height?: number;
  /** Seconds, of videos and sound where it is known. */
  readonly duration?: number;
}
export type FieldType = keyof ValuesOfTypes;

/** Options of a field besides its type. */
export interface FieldOptions {
  /** Every record has a value. */
  readonly required?: boolean;
  /** No two records have the same value. */
  readonly unique?: boolean;
  /** Stored as a hash, which can be compared but is never answered. */
  readonly hashed?: boolean;
  /** Applied to texts before they are stored and compared: trim spaces, lower case, Unicode's form NFC. */
  readonly normalize?: readonly ('trim' | 'lower' | 'nfc')[];
  /** The name in addresses; by default the field's name. */
  readonly slug?: string;
}

/** The digits of a DECIMAL: at most 38, and how many of them are behind the point. */
interface Digits {
  readonly precision: number;
  readonly scale: number;
}
interface Many {
  /** A value is a list of files. */
  readonly many?: boolean;
}
type AnyOptions = FieldOptions & Partial<Digits> & Many;
type NoDigits = { readonly [Name in keyof Digits]?: never };

/** A field of a space. @typeParam Value the type of its values */
export interface Field<
  Type extends FieldType = FieldType,
  Options extends AnyOptions = AnyOptions,
  Value = unknown,
> {
  readonly type: Type;
  readonly options: Options;
  /** Makes a value of a string that JSON has in its place. */
  readonly read?: ((text: string) => unknown) | undefined;
  /** Only for the compiler. */
  readonly value?: Value;
}

type TypedField<Type extends FieldType, Options extends AnyOptions, Value> = Field<Type, Options, Value>;

function field<Type extends FieldType>(type: Type, read?: Field['read']) {
  return <
    Value extends ValuesOfTypes[Type] = ValuesOfTypes[Type],
    const Options extends FieldOptions & NoDigits = object,
  >(
    options: Options = {} as Options,
  ): TypedField<Type, Options, Value> => ({ type, options, read });
}

export const text = /* @__PURE__ */ field('TEXT');
export const number = /* @__PURE__ */ field('NUMBER');
export const boolean = /* @__PURE__ */ field('BOOLEAN');
export const array = /* @__PURE__ */ field('ARRAY');
export const object = /* @__PURE__ */ field('OBJECT');
export const datetime = /* @__PURE__ */ field('DATETIME');
export const date = /* @__PURE__ */ field('DATE');
export const integer = /* @__PURE__ */ field('INTEGER');
export const bigint = /* @__PURE__ */ field('BIGINT', BigInt);

export function decimal<const Options extends FieldOptions & Digits>(
  options: Options,
): TypedField<'DECIMAL', Options, string> {
  return { type: 'DECIMAL', options };
}

/** Files of the project, which go with their records: one, or a list with `many: true`. */
export function file<const Options extends FieldOptions & Many & NoDigits = object>(
  options: Options = {} as Options,
): TypedField<'FILE', Options, Options extends { readonly many: true } ? readonly FileValue[] : FileValue> {
  return { type: 'FILE', options };
}

export type Fields = Readonly<Record<string, Field>>;

/** A record space: a name in addresses, and fields. */
export interface Space<Of extends Fields = Fields> {
  readonly slug: string;
  readonly fields: Of;
}

export function space<const Of extends Fields>(slug: string, fields: Of): Space<Of> {
  return { slug, fields };
}

export type Flat<Type> = { [Key in keyof Type]: Type[Key] } & {};
type ValueOf<Of extends Field> = Of extends Field<FieldType, AnyOptions, infer Value> ? Value : never;
/** A value to store or to compare with. */
type GivenOf<Of extends Field> = Of['type'] extends 'FILE'
  ? OneOrMany<Of, string | Pick<FileValue, 'name'>>
  : ComparedOf<Of>;
type ComparedOf<Of extends Field> = Of['type'] extends 'FILE'
  ? OneOrMany<Of, string>
  : ValueOf<Of> | (Of['type'] extends 'DATETIME' ? Date : never);
type OneOrMany<Of extends Field, One> = Of['options'] extends { readonly many: true } ? readonly One[] : One;
type With<Of extends Fields, Option extends keyof FieldOptions> = {
  [Name in keyof Of]: Of[Name]['options'] extends { readonly [Key in Option]: true } ? Name : never;
}[keyof Of];

/** The fields of every record. */
export interface System {
  readonly id: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** A stored record, as answers have it. */
export type RecordOf<Of extends Fields> = Flat<
  System & {
    readonly [Name in Exclude<keyof Of, With<Of, 'hashed'>>]: Name extends With<Of, 'required'>
      ? ValueOf<Of[Name]>
      : ValueOf<Of[Name]> | null;
  }
>;

/** A record to store. */
export type NewRecord<Of extends Fields> = Flat<
  { readonly [Name in With<Of, 'required'>]: GivenOf<Of[Name]> } & {
    readonly [Name in Exclude<keyof Of, With<Of, 'required'>>]?: GivenOf<Of[Name]> | null;
  }
>;

/** New values of a stored record; null clears one. */
export type Changes<Of extends Fields> = {
  readonly [Name in keyof Of]?: GivenOf<Of[Name]> | (Name extends With<Of, 'required'> ? never : null);
};

/** Names of the fields that have a type. */
export type NamesOf<Of extends Fields, Type extends FieldType> = {
  [Name in keyof Of]: Of[Name]['type'] extends Type ? Name : never;
}[keyof Of] &
  string;

export type UniqueNames<Of extends Fields> = With<Of, 'unique'> & string;

interface AnyOperators<Value> {
  readonly eq?: Value;
  readonly ne?: Value;
  readonly exists?: boolean;
}
interface ListOperators<Value> extends AnyOperators<Value> {
  readonly in?: readonly Value[];
  readonly nin?: readonly Value[];
}
interface OrderOperators<Value> extends ListOperators<Value> {
  readonly gt?: Value;
  readonly gte?: Value;
  readonly lt?: Value;
  readonly lte?: Value;
}
interface TextOperators<Value> extends OrderOperators<Value> {
  readonly contains?: string;
  readonly startsWith?: string;
  readonly endsWith?: string;
  readonly icontains?: string;
  readonly istartsWith?: string;
  readonly iendsWith?: string;
}
interface ArrayOperators<Value> extends ListOperators<Value> {
  readonly has?: unknown;
  readonly hasAny?: readonly unknown[];
  readonly hasAll?: readonly unknown[];
  readonly size?: number;
}

/** Operators by type (docs/api.md, "Filters"). */
type Operators<Type extends FieldType, Value> = {
  TEXT: TextOperators<Value>;
  NUMBER: OrderOperators<Value>;
  BOOLEAN: ListOperators<Value>;
  ARRAY: ArrayOperators<Value>;
  OBJECT: never;
  DATETIME: OrderOperators<Value>;
  DATE: OrderOperators<Value>;
  INTEGER: OrderOperators<Value>;
  BIGINT: OrderOperators<Value>;
  DECIMAL: OrderOperators<Value>;
  FILE: Value extends readonly unknown[] ? ArrayOperators<Value> : ListOperators<Value>;
}[Type];

/** A moment. Texts are in the form of ISO 8601, or days. */
type Moment = string | Date;

type FieldCondition<Of extends Field> = Of['options'] extends { readonly hashed: true }
  ? ComparedOf<Of>
  : ComparedOf<Of> | Operators<Of['type'], ComparedOf<Of>>;

/** Conditions. All of them must hold. */
export type Where<Of extends Fields> = {
  readonly [Name in keyof Of]?: FieldCondition<Of[Name]>;
} & {
  /** Values within an OBJECT, at their path. */
  readonly [Path in `${NamesOf<Of, 'OBJECT'>}.${string}`]?: unknown;
} & {
  readonly id?: string | OrderOperators<string>;
  readonly createdAt?: Moment | OrderOperators<Moment>;
  readonly updatedAt?: Moment | OrderOperators<Moment>;
  /** AnyOperators, all or none of the branches. */
  readonly $or?: readonly Where<Of>[];
  readonly $and?: readonly Where<Of>[];
  readonly $not?: readonly Where<Of>[];
};

/** Names of fields that can be selected, and sorted by. */
export type ShownName<Of extends Fields> =
  | (Exclude<keyof Of, With<Of, 'hashed'>> & string)
  | 'createdAt'
  | 'updatedAt';
export type Selectable<Of extends Fields> = ShownName<Of> | `${NamesOf<Of, 'OBJECT'>}.${string}`;

/** The part of a record that was selected. */
export type Selected<Of extends Fields, Select extends Selectable<Of>> = [Select] extends [never]
  ? RecordOf<Of>
  : Flat<
      Pick<RecordOf<Of>, ('id' | Select) & keyof RecordOf<Of>> & {
        readonly [Path in Exclude<Select, keyof RecordOf<Of>> as Path extends `${infer Name}.${string}`
          ? Name
          : never]: Readonly<Record<string, unknown>>;
      }
    >;

/** The structure of a space, for the header `structure`. What it leaves out stays as it is stored. */
export function structureOf({ slug, fields }: Space, projectSlug: string): object {
  return {
    slug,
    projectSlug,
    recordStructure: Object.entries(fields).map(([name, { type, options }]) => ({
      name,
      slug: name,
      type,
      ...options,
    })),
  };
}
