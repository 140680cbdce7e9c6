import { nullable, type Schema } from '../../common/openapi/schema.ts';

const count: Schema = { type: 'integer', minimum: 1 };

/**
 * What parseOptions takes, as JSON Schema. test/unit/schemas.test.ts holds the two against each other.
 * @param by what may be sorted by
 */
export function optionsSchema(by: Schema): Schema {
  return {
    type: 'object',
    description: 'How conditions combine, order and page',
    properties: {
      paramRelationship: nullable({
        type: 'string',
        enum: ['And', 'Or'],
        default: 'And',
        description: 'Whether all conditions must hold, or any',
      }),
      pagination: nullable({
        type: 'object',
        required: ['limit'],
        properties: { limit: count, page: { ...count, default: 1, description: 'From 1' } },
      }),
      sort: nullable({
        type: 'object',
        required: ['by'],
        properties: { by, order: { type: 'string', enum: ['asc', 'desc'], default: 'asc' } },
        description: 'Absent: in the order in which records were inserted',
      }),
      token: { description: 'A login token, for spaces with authOptions' },
      populate: { description: 'Not built yet: a read that asks for it is a 501' },
    },
  };
}
