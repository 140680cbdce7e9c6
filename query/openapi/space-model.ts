import { nameSchema } from '#kernel/json/name-schema.ts';
import { dateTime, named, nullable, resolved, type Schema, string } from '#kernel/json/schema.ts';
import { exampleStructure } from '#records/structure/example-structure.ts';
import { structureSchema } from '#records/structure/structure-schema.ts';
import {
  type ApiMedia,
  type ApiParameter,
  headerParameter,
  queryParameter,
} from '#server/openapi/api-operation.ts';
import { optionsSchema } from '../input/options-schema.ts';
import { longestText, maxSearchedFields } from '../input/parse-search.ts';
import { type Flag, recordFlags } from '../input/record-headers.ts';
import { aggregateBody } from './aggregate-schema.ts';
import { listForm } from './filter-schemas.ts';

/** What descriptions of operations need to know about record spaces: about any space, or a certain one. */
export interface SpaceModel {
  /** Headers that decide the structure of a request. */
  readonly structureHeaders: readonly ApiParameter[];
  /** For requests that do not use the stored structure; the published client always sends them. */
  readonly creationHeaders: readonly ApiParameter[];
  readonly conditions: readonly ApiParameter[];
  readonly conditionsBody: ApiMedia;
  /** Conditions within a larger body, without order and page. */
  readonly where: Schema;
  readonly aggregation: ApiMedia;
  readonly search: readonly ApiParameter[];
  readonly options: ApiParameter;
  readonly structure: Schema;
  /** The structure in a body. */
  readonly structureBody: ApiMedia;
  /** A record in an answer. */
  readonly record: Schema;
  readonly recordOrNull: Schema;
  /** A record with the fields that `populate` adds, and only those that `select` names. */
  readonly found: Schema;
  readonly foundOrNull: Schema;
  readonly newRecord: ApiMedia;
  readonly changes: ApiMedia;
}

const { usePreStoredStructure, inferStructure, ...creation } = recordFlags;

function flagHeader({ header, absent, meaning }: Flag): ApiParameter {
  return headerParameter(header, meaning, {
    type: 'string',
    enum: ['true', 'false'],
    default: String(absent),
  });
}

export const clearAllSpaces = flagHeader(creation.clearAllSpaces);

export const systemProperties = {
  id: { type: 'string', description: 'Assigned by the server' },
  createdAt: dateTime,
  updatedAt: dateTime,
} as const satisfies Record<string, Schema>;

const anyRecord: Schema = {
  type: 'object',
  description: 'Every field of the structure by name, null without a value; hashed fields are left out',
  required: Object.keys(systemProperties),
  properties: systemProperties,
  additionalProperties: true,
};
const foundRecord: Schema = {
  ...anyRecord,
  description: `${anyRecord.description}. With the option \`select\`, only \`id\` and what it names`,
  required: ['id'],
};

/** Schemas of records in answers. */
export function recordSchemas(
  record: Schema,
  found: Schema,
): Pick<SpaceModel, 'record' | 'recordOrNull' | 'found' | 'foundOrNull'> {
  return {
    record: named('StoredRecord', record),
    recordOrNull: named('RecordOrNull', nullable(record)),
    found: named('FoundRecord', found),
    foundOrNull: named('FoundRecordOrNull', nullable(found)),
  };
}

export function searchParameters(field: Schema, shown: unknown): readonly ApiParameter[] {
  const text: Schema = { type: 'string', maxLength: longestText };
  const fields: Schema = { type: 'array', minItems: 1, maxItems: maxSearchedFields, items: field };
  return [
    {
      ...queryParameter('searchText', 'Taken literally, letter case ignored', text),
      required: true,
      example: 'ada',
    },
    {
      ...queryParameter(
        'searchableFields[]',
        'TEXT fields that are not hashed, by name or slug; also without the brackets',
        fields,
      ),
      required: true,
      ...(shown === undefined ? {} : { example: shown }),
    },
  ];
}

export function optionsParameter(json: Schema, example: unknown): ApiParameter {
  const description = 'How conditions combine, order and page: JSON of `Options`';
  return { name: 'options', in: 'header', description, json, example };
}

const anyConditions: ApiParameter = {
  ...queryParameter(
    'conditions',
    'Conditions: any number, up to 100, of `<field>=<value>` with the name or slug of a field, or `id`, `createdAt`, `updatedAt`. Each value is converted by the type of its field. An operator follows the field in brackets, such as `age[gte]=36`; groups are `$or[0][name]=Ada&$or[1][age]=36`',
    { type: 'object', maxProperties: 100, additionalProperties: string },
  ),
  example: { name: 'Ada' },
};

const conditionsBody = named('Conditions', {
  type: 'object',
  maxProperties: 100,
  propertyNames: nameSchema,
  additionalProperties: true,
  description: `Values, or objects of operators, by the name or slug of a field. ${listForm}`,
});

/** @param scopes that `authOptions` may name */
export function anySpace(scopes: readonly string[]): SpaceModel {
  const structure = structureSchema(scopes);
  const { required: _, ...structureBody } = resolved(structure);
  const object: Schema = { type: 'object', minProperties: 1, additionalProperties: true };
  return {
    structureHeaders: [
      {
        name: 'structure',
        in: 'header',
        description:
          'The structure of the record space: JSON of `Structure`. Needed unless `use-pre-stored-structure` or `infer-structure` is true',
        json: structure,
        example: exampleStructure,
      },
      flagHeader(usePreStoredStructure),
      flagHeader(inferStructure),
    ],
    creationHeaders: Object.values(creation).map(flagHeader),
    conditions: [anyConditions],
    conditionsBody: { schema: conditionsBody, example: { name: 'Ada' } },
    where: conditionsBody,
    aggregation: aggregateBody(conditionsBody, () => nameSchema, {
      groupBy: ['name'],
      values: { people: 'count', oldest: { max: 'age' } },
    }),
    search: searchParameters(string, ['name']),
    options: optionsParameter(
      named(
        'Options',
        optionsSchema({
          type: 'string',
          description: 'A field by name or slug, `id`, `createdAt` or `updatedAt`',
        }),
      ),
      {
        paramRelationship: 'And',
        pagination: { limit: 10, page: 1 },
        sort: { by: 'age', order: 'asc' },
      },
    ),
    structure,
    structureBody: { schema: named('StructureBody', structureBody), example: exampleStructure },
    ...recordSchemas(anyRecord, foundRecord),
    newRecord: {
      schema: named('NewRecord', { ...object, description: 'Values of fields, by name or slug' }),
      example: { name: 'Ada', age: 36 },
    },
    changes: {
      schema: named('Changes', {
        ...object,
        description:
          'The fields that change; null clears one, and `{"$inc": 1}` adds to the number of a field',
      }),
      example: { age: 37 },
    },
  };
}
