import type { Handler, Route } from '../http/http-types.ts';
import type { ApiOperation } from '../openapi/api-operation.ts';

/** A route of a process that the description of the API shows. */
export function getRoute(path: string, api: ApiOperation, handler: Handler): Route {
  return { operation: api.id, method: 'GET', path, api, handler };
}
