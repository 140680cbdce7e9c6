import type { ApiParameter } from '../openapi/api-operation.ts';
import { nullable, type Schema } from '../openapi/schema.ts';
import { listLimits } from './list-query.ts';

/** How long a page of a list is. */
export const limitParameter: ApiParameter = {
  name: 'limit',
  in: 'query',
  description: 'How many at most',
  schema: { type: 'integer', minimum: 1, maximum: listLimits.most, default: listLimits.usual },
};

/** Where the page after this one begins. */
export const nextPage: Schema = nullable({
  type: 'string',
  description: 'The `after` of the next page; null: there is none',
});

/** A day (UTC) or a time, as lists take them. */
export const momentSchema: Schema = {
  anyOf: [
    { type: 'string', format: 'date' },
    { type: 'string', format: 'date-time' },
  ],
};

export function queryParameter(
  name: string,
  description: string,
  schema: Schema = { type: 'string' },
): ApiParameter {
  return { name, in: 'query', description, schema };
}
