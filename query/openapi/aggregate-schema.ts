import { nameSchema } from '#kernel/json/name-schema.ts';
import { boolean, exactObject, named, type Schema, string } from '#kernel/json/schema.ts';
import { aggregateLimits } from '#records/input/aggregate/aggregate-plan.ts';
import { functions } from '#records/input/aggregate/functions.ts';
import type { Ability } from '#records/types/field-type.ts';
import type { ApiMedia } from '#server/openapi/api-operation.ts';

const level: Schema = { type: 'number', minimum: 0, maximum: 1 };

const bucketOf = (fields: Schema) =>
  exactObject(
    {
      as: { ...nameSchema, description: 'Its name in answers; absent: the name in `bucket`' },
      bucket: fields,
      every: {
        type: 'string',
        pattern: '^[1-9][0-9]{0,4}(s|m|h|d|w|mo|y)$',
        description: 'Its length. Days and longer follow the calendar of the time zone',
        example: '1d',
      },
      timeZone: { ...string, description: 'Absent: UTC', example: 'Europe/Paris' },
      fill: { ...boolean, description: 'Whether to include buckets without records' },
    },
    { optional: ['as', 'timeZone', 'fill'] },
  );

/** @param needs absent: any values */
type NamesOf = (needs?: Ability) => Schema | null;

function computedValue(namesOf: NamesOf): Schema {
  const values = Object.entries(functions).flatMap(([name, { needs }]): [string, Schema][] => {
    const field = namesOf(needs);
    if (field === null) return [];
    const pair: Schema = { type: 'array', minItems: 2, maxItems: 2, prefixItems: [field, level], items: {} };
    return [[name, name === 'quantile' ? pair : field]];
  });
  const optional = values.map(([name]) => name);
  const description = 'A function, and its field';
  // one object, and not a union: few generators have unions of objects
  return named(
    'ComputedValue',
    exactObject(Object.fromEntries(values), { optional, description, minProperties: 1, maxProperties: 1 }),
  );
}

/**
 * The input of parseAggregate, as JSON Schema.
 * @param namesOf fields with values that have an ability; null: there are none
 */
export function aggregateBody(
  where: Schema,
  namesOf: NamesOf,
  example: Readonly<Record<string, unknown>>,
): ApiMedia {
  return {
    schema: named(
      'Aggregation',
      exactObject(
        {
          where,
          groupBy: {
            type: 'array',
            maxItems: aggregateLimits.groups,
            items: {
              anyOf: [namesOf() ?? string, named('TimeBucket', bucketOf(namesOf('bucketed') ?? string))],
            },
          },
          values: {
            type: 'object',
            maxProperties: aggregateLimits.values,
            additionalProperties: {
              anyOf: [{ type: 'string', enum: ['count'] }, computedValue(namesOf)],
            },
            description: 'Values to compute from each group, by their names in answers',
          },
          having: {
            type: 'object',
            additionalProperties: true,
            description: 'Conditions on `values` that groups must match, in the form of `where`',
          },
          sort: {
            type: 'array',
            maxItems: aggregateLimits.sorts,
            items: exactObject(
              {
                by: { ...string, description: 'A name in groupBy or values' },
                order: { type: 'string', enum: ['asc', 'desc'], description: 'Absent: asc' },
              },
              { optional: ['order'] },
            ),
          },
          limit: {
            type: 'integer',
            minimum: 1,
            maximum: aggregateLimits.rows,
            description: `The most groups in the answer; absent: ${aggregateLimits.usualRows}`,
          },
        },
        {
          optional: ['where', 'groupBy', 'values', 'having', 'sort', 'limit'],
          description: 'It needs `groupBy`, `values` or both',
        },
      ),
    ),
    example,
  };
}
