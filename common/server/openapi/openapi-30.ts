import type { Json, JsonObject } from './components.ts';

/** Converts a document to OpenAPI 3.0.0, which has its own dialect of JSON Schema. */
export function asOpenApi30(document: JsonObject): JsonObject {
  const { schemas, ...others } = document.components as JsonObject;
  const converted = convertOutside({ ...document, components: others as JsonObject }) as JsonObject;
  return {
    ...converted,
    openapi: '3.0.0',
    components: { ...(converted.components as JsonObject), schemas: convertEach(schemas as JsonObject) },
  };
}

/** Converts the schemas inside a part that is not a schema itself. */
function convertOutside(part: Json): Json {
  if (Array.isArray(part)) return part.map(convertOutside);
  if (!isObject(part)) return part;
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) => {
      if (key === 'example') return [key, value];
      return [key, key === 'schema' ? convertSchema(value) : convertOutside(value)];
    }),
  );
}

function convertSchema(schema: Json): Json {
  // of additionalProperties
  if (!isObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]): [string, Json][] => {
      switch (key) {
        case 'type':
          return Object.entries(typeOf(value));
        case 'contentMediaType':
        case 'contentSchema':
        case 'prefixItems':
        case 'propertyNames':
          return [];
        case 'properties':
          return [[key, convertEach(value as JsonObject)]];
        case 'items':
        case 'not':
        case 'additionalProperties':
          return [[key, convertSchema(value)]];
        case 'anyOf':
        case 'allOf':
          return [[key, (value as Json[]).map(convertSchema)]];
        default:
          return [[key, value]];
      }
    }),
  );
}

function convertEach(schemas: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, convertSchema(schema)]));
}

function typeOf(type: Json): JsonObject {
  if (!Array.isArray(type)) return { type };
  const [only, ...others] = type.filter((name) => name !== 'null') as Json[];
  if (only === undefined || others.length > 0) throw new Error('OpenAPI 3.0 has no schema of several types');
  return { type: only, nullable: true };
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
