import fc from 'fast-check';
import type { JsonObject } from '#server/openapi/components.ts';
import { anyJson, hostileKey } from './hostile-arbitraries.ts';

// biome-ignore lint/suspicious/noExplicitAny: JSON Schema of a document
type Schema = any;

/**
 * Values that a schema of a document (OpenAPI 3.1) permits, as far as it can be told without a validator.
 * @param within references that it is below: where one refers to itself the value is any
 */
export function valuesOf(
  schema: Schema,
  document: JsonObject,
  within: readonly string[] = [],
): fc.Arbitrary<unknown> {
  const { $ref } = schema;
  if (within.includes($ref)) return anyJson;
  if ($ref !== undefined) return valuesOf(resolve($ref, document), document, [...within, $ref]);
  const of = (part: Schema): fc.Arbitrary<unknown> => valuesOf(part, document, within);
  if (schema.enum !== undefined) return fc.constantFrom<unknown>(...schema.enum);
  const types: string[] = [schema.type ?? []].flat();
  if (types.length > 1) return fc.oneof(...types.map((type) => of({ ...schema, type })));
  switch (types[0]) {
    case 'object':
      return objectsOf(schema, of);
    case 'array':
      return fc.array(of(schema.items ?? {}), { minLength: schema.minItems ?? 0, maxLength: 4 });
    case 'string':
      return stringsOf(schema);
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -10, max: schema.maximum ?? 2 ** 31 - 1 });
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      return schema.anyOf === undefined ? anyJson : fc.oneof(...schema.anyOf.map(of));
  }
}

function objectsOf(schema: Schema, of: (part: Schema) => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const properties = Object.entries<Schema>(schema.properties ?? {});
  const required: string[] = schema.required ?? [];
  const known = fc.record(Object.fromEntries(properties.map(([name, part]) => [name, of(part)])), {
    requiredKeys: required as never[],
  });
  if (properties.length > 0 && schema.additionalProperties !== true) return known;
  const values = typeof schema.additionalProperties === 'object' ? of(schema.additionalProperties) : anyJson;
  const more = fc.dictionary(hostileKey, values, { minKeys: schema.minProperties ?? 0, maxKeys: 4 });
  return fc.tuple(known, more).map(([own, others]) => ({ ...others, ...own }));
}

function stringsOf(schema: Schema): fc.Arbitrary<string> {
  if (schema.format === 'date') return fc.constantFrom('2026-01-01', '2026-11-22');
  if (schema.format === 'date-time') return fc.constant('2026-01-01T00:00:00.000Z');
  if (schema.pattern !== undefined && !schema.pattern.includes('\\u')) {
    return fc.stringMatching(new RegExp(schema.pattern));
  }
  return fc.string({ unit: 'grapheme', minLength: schema.minLength ?? 0, maxLength: 20 });
}

function resolve(reference: string, document: JsonObject): Schema {
  const parts = reference.slice(2).split('/');
  return parts.reduce((at: Schema, part) => at[part.replaceAll('~1', '/').replaceAll('~0', '~')], document);
}
