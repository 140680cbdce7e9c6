/** The subset of JSON Schema (2020-12) that the description uses and OpenAPI 3.0 can express. */
export interface Schema {
  readonly type?: SchemaType | readonly SchemaType[];
  readonly title?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly items?: Schema;
  /** OpenAPI 3.0 has none. */
  readonly prefixItems?: readonly Schema[];
  /** OpenAPI 3.0 has none. */
  readonly propertyNames?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly enum?: readonly (string | number | boolean | null)[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly not?: Schema;
  readonly default?: unknown;
  readonly example?: unknown;
  /** What a text is: bytes, or JSON that fits `contentSchema`. OpenAPI 3.0 has none. */
  readonly contentMediaType?: 'application/octet-stream' | 'application/json';
  /** OpenAPI 3.0 has none. */
  readonly contentSchema?: Schema;
  readonly $ref?: string;
  readonly [target]?: NamedSchema;
}

type SchemaType = 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null';

/** A schema that is defined once, in the components of a document. */
export interface NamedSchema {
  readonly name: string;
  readonly schema: Schema;
}

/** The key under which a reference keeps its target, so that a document can collect it. JSON leaves symbols out. */
export const target = Symbol('target');

export function named(name: string, schema: Schema): Schema {
  return { $ref: `#/components/schemas/${name}`, [target]: { name, schema } };
}

/** The component that a schema refers to. */
export function resolved(schema: Schema): Schema {
  return schema[target]?.schema ?? schema;
}

/** Adds null to a schema. Not for a reference: OpenAPI 3.0 can't express that. */
export function nullable(schema: Schema): Schema {
  const { type, enum: values } = schema;
  if (type === undefined) return schema;
  const types = [type].flat() as SchemaType[];
  return {
    ...schema,
    type: [...types, 'null'],
    ...(values === undefined ? {} : { enum: [...values, null] }),
  };
}

export const string = { type: 'string' } as const satisfies Schema;
export const boolean = { type: 'boolean' } as const satisfies Schema;
export const count = { type: 'integer', minimum: 0 } as const satisfies Schema;
/** JSON Schema says it by the media type; generators go by the format. */
export const bytes: Schema = {
  type: 'string',
  format: 'binary',
  contentMediaType: 'application/octet-stream',
};
export const dateTime: Schema = { type: 'string', format: 'date-time' };

export function arrayOf(items: Schema): Schema {
  return { type: 'array', items };
}

/** An object of exactly these properties; only the optional ones may be missing. */
export function exactObject(
  properties: Readonly<Record<string, Schema>>,
  { optional = [], ...more }: { readonly optional?: readonly string[] } & Schema = {},
): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return {
    type: 'object',
    properties,
    // OpenAPI 3.0 forbids an empty list here
    ...(required.length === 0 ? {} : { required }),
    additionalProperties: false,
    ...more,
  };
}
