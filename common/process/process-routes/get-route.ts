import type { Handler, Route } from '#server/http/http-types.ts';
import type { ApiOperation } from '#server/openapi/api-operation.ts';

/** A route of a process that the description of the API shows. */
export function getRoute(path: string, api: ApiOperation, handler: Handler): Route {
  return { operation: api.id, method: 'GET', path, api, handler };
}
