/** The types of fields, and the values that records have of them. */
export interface ValuesOfTypes {
  TEXT: string;
  NUMBER: number;
  BOOLEAN: boolean;
  ARRAY: readonly unknown[];
  OBJECT: Readonly<Record<string, unknown>>;
}
export type FieldType = keyof ValuesOfTypes;

/** What a field may say beside its type. */
export interface FieldOptions {
  /** Every record has a value. */
  readonly required?: boolean;
  /** No two records have the same value. */
  readonly unique?: boolean;
  /** Stored as a hash: it can be compared, and is never answered. */
  readonly hashed?: boolean;
  /** Of text, before it is stored and compared: without the spaces around it, in lower case, in Unicode's form NFC. */
  readonly normalize?: readonly ('trim' | 'lower' | 'nfc')[];
  /** In addresses; by default its name. */
  readonly slug?: string;
}

/** A field of a space. @typeParam Value of its records, where it has one */
export interface Field<
  Type extends FieldType = FieldType,
  Options extends FieldOptions = FieldOptions,
  Value = unknown,
> {
  readonly type: Type;
  readonly options: Options;
  /** For the compiler alone. */
  readonly value?: Value;
}

type Made<Type extends FieldType, Options extends FieldOptions, Value> = Field<Type, Options, Value>;

function field<Type extends FieldType>(type: Type) {
  return <
    Value extends ValuesOfTypes[Type] = ValuesOfTypes[Type],
    const Options extends FieldOptions = object,
  >(
    options: Options = {} as Options,
  ): Made<Type, Options, Value> => ({ type, options });
}

export const text = /* @__PURE__ */ field('TEXT');
export const number = /* @__PURE__ */ field('NUMBER');
export const boolean = /* @__PURE__ */ field('BOOLEAN');
export const array = /* @__PURE__ */ field('ARRAY');
export const object = /* @__PURE__ */ field('OBJECT');

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
type ValueOf<Of extends Field> = Of extends Field<FieldType, FieldOptions, infer Value> ? Value : never;
type With<Of extends Fields, Option extends keyof FieldOptions> = {
  [Name in keyof Of]: Of[Name]['options'] extends { readonly [Key in Option]: true } ? Name : never;
}[keyof Of];

/** What every record has. */
export interface System {
  readonly id: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** A record as a find answers it. */
export type RecordOf<Of extends Fields> = Flat<
  System & {
    readonly [Name in Exclude<keyof Of, With<Of, 'hashed'>>]: Name extends With<Of, 'required'>
      ? ValueOf<Of[Name]>
      : ValueOf<Of[Name]> | null;
  }
>;

/** A record that is to be stored. */
export type NewRecord<Of extends Fields> = Flat<
  { readonly [Name in With<Of, 'required'>]: ValueOf<Of[Name]> } & {
    readonly [Name in Exclude<keyof Of, With<Of, 'required'>>]?: ValueOf<Of[Name]> | null;
  }
>;

/** New values of a stored record; null clears one. */
export type Changes<Of extends Fields> = {
  readonly [Name in keyof Of]?: ValueOf<Of[Name]> | (Name extends With<Of, 'required'> ? never : null);
};

/** Names of the fields that have a type. */
export type NamesOf<Of extends Fields, Type extends FieldType> = {
  [Name in keyof Of]: Of[Name]['type'] extends Type ? Name : never;
}[keyof Of] &
  string;

export type UniqueNames<Of extends Fields> = With<Of, 'unique'> & string;

interface Any<Value> {
  readonly eq?: Value;
  readonly ne?: Value;
  readonly exists?: boolean;
}
interface Listed<Value> extends Any<Value> {
  readonly in?: readonly Value[];
  readonly nin?: readonly Value[];
}
interface Ordered<Value> extends Listed<Value> {
  readonly gt?: Value;
  readonly gte?: Value;
  readonly lt?: Value;
  readonly lte?: Value;
}
interface OfText<Value> extends Ordered<Value> {
  readonly contains?: string;
  readonly startsWith?: string;
  readonly endsWith?: string;
  readonly icontains?: string;
  readonly istartsWith?: string;
  readonly iendsWith?: string;
}
interface OfArray<Value> extends Listed<Value> {
  readonly has?: unknown;
  readonly hasAny?: readonly unknown[];
  readonly hasAll?: readonly unknown[];
  readonly size?: number;
}

/** Operators by type (docs/api.md, "Filters"). */
type Operators<Type extends FieldType, Value> = {
  TEXT: OfText<Value>;
  NUMBER: Ordered<Value>;
  BOOLEAN: Listed<Value>;
  ARRAY: OfArray<Value>;
  OBJECT: never;
}[Type];

/** A moment; a text is ISO 8601, or a day. */
type Moment = string | Date;

type OfField<Of extends Field> = Of['options'] extends { readonly hashed: true }
  ? ValueOf<Of>
  : ValueOf<Of> | Operators<Of['type'], ValueOf<Of>>;

/** Conditions: all of them have to hold. */
export type Where<Of extends Fields> = {
  readonly [Name in keyof Of]?: OfField<Of[Name]>;
} & {
  /** Values within an OBJECT, at their path. */
  readonly [Path in `${NamesOf<Of, 'OBJECT'>}.${string}`]?: unknown;
} & {
  readonly id?: string | Ordered<string>;
  readonly createdAt?: Moment | Ordered<Moment>;
  readonly updatedAt?: Moment | Ordered<Moment>;
  /** Any, all or none of the branches. */
  readonly $or?: readonly Where<Of>[];
  readonly $and?: readonly Where<Of>[];
  readonly $not?: readonly Where<Of>[];
};

/** What can be shown, and sorted by. */
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

/** The structure of a space, as the header `structure` says it. What it leaves out of the space stays as it is stored. */
export function structureOf({ slug, fields }: Space, projectSlug: string): object {
  return {
    ...{ slug, projectSlug },
    recordStructure: Object.entries(fields).map(([name, { type, options }]) => ({
      ...{ name, slug: name, type },
      ...options,
    })),
  };
}
