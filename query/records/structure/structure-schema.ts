import { slugPattern } from '#kernel/ids/slug.ts';
import { nameSchema } from '#kernel/json/name-schema.ts';
import { arrayOf, boolean, exactObject, named, nullable, type Schema, string } from '#kernel/json/schema.ts';
import { mostPrecision } from '../types/decimal.ts';
import { typeNames } from '../types/field-types.ts';
import { normalizations } from '../types/normalize.ts';
import { systemKeys } from './field.ts';
import { longestUrl, maxFields } from './parse-structure.ts';
import { longestSession, longestSpace, maxScopes } from './space-auth.ts';

/** The input of parseStructure as JSON Schema. test/unit/schemas.test.ts compares the two. */

const fieldProperties = {
  name: {
    ...nameSchema,
    not: { enum: systemKeys },
    description: 'Its key in answers',
  },
  slug: {
    ...nameSchema,
    not: { enum: [...systemKeys, '__proto__'] },
    description: 'Requests may use it instead of the name',
  },
  type: { type: 'string', enum: typeNames },
} as const satisfies Record<string, Schema>;

function flag(description: string): Schema {
  return { ...boolean, description };
}

const required = flag('Whether a value must be supplied');
const unique = flag('Whether values must be unique among the records of the space');
const hashed = flag('Whether the value is stored as a hash, and never shown. Not with unique');
const normalize: Schema = {
  ...arrayOf({ type: 'string', enum: normalizations }),
  description: 'What a TEXT goes through before it is stored and compared, in this order',
};
const precision: Schema = {
  type: 'integer',
  minimum: 1,
  maximum: mostPrecision,
  description: 'Of a DECIMAL, which needs it: the most digits of a value',
};
const scale: Schema = {
  type: 'integer',
  minimum: 0,
  maximum: mostPrecision,
  description: 'Of a DECIMAL, which needs it: the digits behind the point',
};
const many = flag('Of a FILE: whether a value is a list of files');
const timeZone: Schema = {
  ...string,
  description:
    'Of a DATETIME that was a DATE: the time zone in which the stored days begin, such as `Europe/Paris`. It is not stored',
};
const defaultValue: Schema = { description: 'Used when no value is supplied; of the type of the field' };

// no defaults: some generators demand what has one
const fieldSchema = named('Field', {
  type: 'object',
  required: ['name', 'slug', 'type'],
  properties: {
    ...fieldProperties,
    required: nullable(required),
    unique: nullable(unique),
    hashed: nullable(hashed),
    normalize: nullable(normalize),
    precision: nullable(precision),
    scale: nullable(scale),
    many: nullable(many),
    timeZone: nullable(timeZone),
    description: { description: 'Text' },
    comment: { description: 'Text; may be empty' },
    defaultValue,
  },
});

const fieldsSchema: Schema = nullable({ type: 'array', maxItems: maxFields, items: fieldSchema });
const url: Schema = { type: 'string', maxLength: longestUrl };

/** @param scopes that `authOptions` may name */
export function structureSchema(scopes: readonly string[]): Schema {
  return named('Structure', {
    type: 'object',
    description:
      'The declared structure of a record space. Keys that are not listed are ignored. It needs `recordStructure`, or else `recordFieldStructures`.',
    required: ['projectSlug', 'slug'],
    properties: {
      name: nullable({ ...string, description: 'Display name' }),
      description: nullable(string),
      projectSlug: { type: 'string', pattern: slugPattern.source, description: 'As in the path' },
      slug: { ...nameSchema, description: 'As in the path: any text without control characters' },
      recordStructure: fieldsSchema,
      recordFieldStructures: fieldsSchema,
      clear: nullable({ ...boolean, description: 'Empties the space first; the server must allow it' }),
      authOptions: nullable(authOptions(scopes)),
      webhooks: nullable({
        type: 'object',
        description: 'Called after writes (docs/api.md)',
        properties: { onInsertUrl: nullable(url), onUpdateUrl: nullable(url) },
      }),
      initialData: nullable({
        type: 'array',
        items: { type: 'object' },
        description: 'Records that the space begins with, checked like those of an insert',
      }),
      functionOptions: {
        description:
          '`{"login": {"compulsoryParams": [...]}}` names fields that a login must give, and then none of them has to be hashed; nothing else is used',
      },
    },
  });
}

const sessionSeconds: Schema = { type: 'integer', minimum: 0, maximum: longestSession };

function authOptions(scopes: readonly string[]): Schema {
  return {
    type: 'object',
    description: 'Operations that need a login token of a user of the application',
    properties: {
      active: nullable({ ...boolean, description: 'Absent: true' }),
      space: nullable({
        type: 'string',
        maxLength: longestSpace,
        description: 'Slug or name of the record space that holds the users',
      }),
      scope: nullable({
        type: 'array',
        maxItems: maxScopes,
        items: { type: 'string', enum: scopes },
        description: 'Families or names of operations; absent: all families',
      }),
      token: nullable({ ...string, description: 'A login token; never stored' }),
      sessionSeconds: nullable({
        ...sessionSeconds,
        description: 'In a record space of users: how long after a login its tokens can be renewed',
      }),
    },
  };
}

/** A field as it is stored and answered. */
export const storedField = named(
  'StoredField',
  exactObject(
    {
      ...fieldProperties,
      many,
      required,
      unique,
      hashed,
      normalize,
      precision,
      scale,
      description: string,
      comment: string,
      defaultValue,
    },
    { optional: ['many', 'normalize', 'precision', 'scale', 'defaultValue'] },
  ),
);
const storedFields = arrayOf(storedField);

/** A structure as it is stored (`structureText`) and answered (`structureAnswer`). */
export const storedStructureSchema: Schema = named(
  'StoredStructure',
  exactObject(
    {
      name: string,
      description: string,
      projectSlug: string,
      slug: string,
      recordStructure: storedFields,
      recordFieldStructures: { ...storedFields, description: 'The same as `recordStructure`' },
      authOptions: exactObject(
        { active: boolean, space: string, scope: arrayOf(string), sessionSeconds },
        { optional: ['sessionSeconds'] },
      ),
      webhooks: exactObject({ onInsertUrl: nullable(string), onUpdateUrl: nullable(string) }),
    },
    { optional: ['authOptions', 'webhooks'] },
  ),
);
