import { longestName } from '#kernel/ids/slug.ts';
import { nullable, type Schema } from '#kernel/json/schema.ts';
import { maxSelected } from '#records/input/parse-select.ts';
import { maxSorts } from '#records/input/parse-sorts.ts';
import { systemKeys } from '#records/structure/field.ts';
import { maxPopulations } from './parse-populate.ts';

const count: Schema = {
  anyOf: [
    { type: 'integer', minimum: 1 },
    { type: 'string', pattern: '^0*[1-9][0-9]*$', maxLength: 15 },
  ],
};
const name = { type: 'string', minLength: 1, maxLength: longestName } as const satisfies Schema;

const population: Schema = {
  type: 'object',
  required: ['fields'],
  properties: {
    space: nullable({ ...name, description: 'Slug or name of another record space of the project' }),
    fields: {
      type: 'object',
      required: ['foreignKey', 'localKey', 'newField'],
      properties: {
        from: { description: 'The same as `space`, used if that is missing' },
        foreignKey: { ...name, description: 'A field of the other space, or `id`; not hashed' },
        localKey: {
          ...name,
          description: 'A field of this space, or `id`; of the same type, and not hashed',
        },
        newField: {
          ...name,
          not: { enum: [...systemKeys, '__proto__'] },
          description:
            'The name under which the record of the other space, or null, is added. It replaces a field of that name',
        },
      },
    },
  },
};

/**
 * The input of parseOptions and parsePopulate as JSON Schema. test/unit/schemas.test.ts compares them.
 * @param by the fields to sort by
 */
export function optionsSchema(by: Schema): Schema {
  const sort: Schema = {
    type: 'object',
    properties: {
      by: nullable(by),
      order: { type: 'string', enum: ['asc', 'desc'], description: 'Absent: asc' },
    },
  };
  return {
    type: 'object',
    description: 'How conditions combine, order and page',
    properties: {
      paramRelationship: nullable({
        type: 'string',
        enum: ['And', 'Or'],
        description: 'Whether all conditions must hold, which is the default, or any',
      }),
      pagination: nullable({
        type: 'object',
        description: '`{}` means no pages. `page` or `after`, but not both, may stand beside `limit`',
        properties: {
          limit: count,
          page: { ...count, description: 'From 1, the default' },
          after: {
            type: 'object',
            description:
              'The last record of the page before, in place of `page`: the page begins after it. It needs `id` or `skip`',
            properties: {
              id: { type: 'string', minLength: 1, maxLength: 200 },
              value: { description: 'Its value in the field that is sorted by; null or absent: it has none' },
              values: nullable({
                type: 'array',
                maxItems: maxSorts,
                items: {},
                description: 'With several sorts, its value for each of them',
              }),
              skip: {
                type: 'integer',
                minimum: 0,
                description: 'Records to skip, after that record or from the first on',
              },
            },
          },
        },
      }),
      sort: {
        anyOf: [
          nullable(sort),
          {
            type: 'array',
            maxItems: maxSorts,
            items: sort,
            description: 'Each one orders the records that are equal by those before it',
          },
        ],
        description: 'Absent, or without `by`: in the order in which records were inserted',
      },
      select: nullable({
        type: 'array',
        minItems: 1,
        maxItems: maxSelected,
        items: { type: 'string' },
        description:
          'The fields that find, findOne and search answer, or paths within an OBJECT; `id` is always included',
      }),
      token: { description: 'A login token, for spaces with authOptions' },
      populate: nullable({
        type: 'array',
        maxItems: maxPopulations,
        items: population,
        description: 'Records of other spaces that find, findOne and search add; other operations ignore it',
      }),
    },
  };
}
