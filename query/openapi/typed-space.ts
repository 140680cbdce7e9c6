import { exactObject, named, nullable, type Schema } from '#kernel/json/schema.ts';
import { kindOfValue } from '#records/input/filters/filter.ts';
import { type Field, systemKeys, type Target } from '#records/structure/field.ts';
import { incrementSchema } from '#records/structure/increment.ts';
import type { Structure } from '#records/structure/structure.ts';
import type { Ability } from '#records/types/field-type.ts';
import { typeCan, typeEntry } from '#records/types/field-types.ts';
import { type ApiParameter, headerParameter, queryParameter } from '#server/openapi/api-operation.ts';
import { optionsSchema } from '../input/options-schema.ts';
import { aggregateBody } from './aggregate-schema.ts';
import { conditionsObject, controlProperties, filterParameters } from './filter-schemas.ts';
import {
  clearAllSpaces,
  optionsParameter,
  recordSchemas,
  type SpaceModel,
  searchParameters,
  systemProperties,
} from './space-model.ts';

const onlyTrue: Schema = { type: 'string', enum: ['true'] };
const byStoredStructure: ApiParameter = {
  ...headerParameter(
    'use-pre-stored-structure',
    'Uses the stored structure, which this document describes',
    onlyTrue,
  ),
  required: true,
  example: 'true',
};

/** Whether a search may use the field. */
export function isSearchable({ type, hashed, hidden }: Field): boolean {
  return typeCan(type, 'text') && !hashed && !hidden;
}

/** A certain record space, with typed schemas and parameters of its stored fields. */
export function typedSpace({ fields }: Structure): SpaceModel {
  const compared = fields.filter(({ hidden }) => !hidden);
  const shown = compared.filter(({ hashed }) => !hashed);
  const values = byName(shown, (field) => nullable(answerSchema(field)));
  const record = exactObject({ ...systemProperties, ...values });
  // `select` may leave out fields, and name parts of an OBJECT
  const found = {
    ...record,
    required: ['id'],
    // a record or null: but oapi-codegen compiles no keys that may be null
    additionalProperties: true,
    description: 'Other keys are records, or null, that the option `populate` adds',
  };
  const needed = fields.filter(isNeeded);
  const optional = fields.filter((field) => !needed.includes(field)).map(({ name }) => name);
  const searchable = compared.filter(isSearchable);
  const targets = [...systemKeys, ...compared];
  const where = named('Where', conditionsObject(targets, descriptionOf));
  return {
    structureHeaders: [byStoredStructure],
    creationHeaders: [clearAllSpaces],
    conditions: [
      ...systemKeys.map(systemCondition),
      ...compared.map(condition),
      ...filterParameters(targets),
    ],
    conditionsBody: {
      schema: named('FindBody', conditionsObject(targets, descriptionOf, controlProperties)),
      example: {},
    },
    where,
    aggregation: aggregateBody(where, (needs) => namesOfAble(shown, needs), {
      values: { records: 'count' },
    }),
    search: searchParameters(
      { type: 'string', enum: namesOf(searchable) },
      searchable.slice(0, 1).map(({ name }) => name),
    ),
    options: optionsParameter(optionsSchema({ type: 'string', enum: [...systemKeys, ...namesOf(shown)] }), {
      paramRelationship: 'And',
    }),
    structure: {},
    structureBody: { schema: {} },
    ...recordSchemas(record, found),
    newRecord: {
      schema: named(
        'NewRecord',
        exactObject(
          byName(fields, (field) =>
            needed.includes(field) ? valueSchema(field) : nullable(valueSchema(field)),
          ),
          { optional, minProperties: 1 },
        ),
      ),
      example: exampleOf(fields),
    },
    changes: changesOf(fields),
  };
}

function byName(of: readonly Field[], schema: (field: Field) => Schema): Record<string, Schema> {
  return Object.fromEntries(of.map((field) => [field.name, { ...schema(field), ...descriptionOf(field) }]));
}

function valueSchema({ type }: Field): Schema {
  return typeEntry(type).schema;
}

function answerSchema({ type }: Field): Schema {
  const entry = typeEntry(type);
  return entry.answerSchema ?? entry.schema;
}

function changesOf(fields: readonly Field[]): SpaceModel['changes'] {
  const values = byName(fields, (field) =>
    orIncrement(field, field.required ? valueSchema(field) : nullable(valueSchema(field))),
  );
  const optional = fields.map(({ name }) => name);
  return {
    schema: named('Changes', exactObject(values, { optional, minProperties: 1 })),
    example: exampleOf(fields.slice(0, 1)),
  };
}

function isNeeded({ required, defaultValue, filled }: Field): boolean {
  return required && defaultValue === null && !filled;
}

/** A new value, or an increment where the field allows it. */
function orIncrement(field: Field, value: Schema): Schema {
  const increment = incrementSchema(field);
  return increment === null ? value : { anyOf: [value, increment] };
}

function exampleOf(fields: readonly Field[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(fields.map(({ name, type }) => [name, typeEntry(type).example]));
}

function namesOf(fields: readonly Field[]): string[] {
  return [...new Set(fields.flatMap(({ name, slug }) => [name, slug]))];
}

/** Names of fields whose values have an ability; null: none. @param needs absent: any values */
function namesOfAble(fields: readonly Field[], needs?: Ability): Schema | null {
  const isOne = (target: Target): boolean =>
    needs === undefined || kindOfValue({ target, path: [] }).can.includes(needs);
  const names = [...systemKeys.filter(isOne), ...namesOf(fields.filter(isOne))];
  return names.length === 0 ? null : { type: 'string', enum: names };
}

function descriptionOf({ description, unique, hashed, normalize }: Field): Pick<Schema, 'description'> {
  const notes = [description, unique ? 'Unique.' : '', hashed ? 'Stored as a hash, and never answered.' : ''];
  if (normalize) notes.push(`Stored and compared after: ${normalize.join(', ')}.`);
  const text = notes.filter((note) => note !== '').join(' ');
  return text === '' ? {} : { description: text };
}

function systemCondition(name: (typeof systemKeys)[number]): ApiParameter {
  return queryParameter(name, 'A condition that every space has', systemProperties[name]);
}

function condition(field: Field): ApiParameter {
  const { slug: name, type, hashed } = field;
  const { schema, isJson } = typeEntry(type);
  const text = descriptionOf(field).description ?? '';
  const note = hashed ? '; needs a condition on another field' : '';
  const description = `${text} Records with this value${note}.`.trim();
  return isJson
    ? { name, in: 'query', description, json: schema }
    : queryParameter(name, description, schema);
}
