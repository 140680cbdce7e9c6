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

export function queryParameter(name: string, description: string): ApiParameter {
  return { name, in: 'query', description, schema: { type: 'string' } };
}
