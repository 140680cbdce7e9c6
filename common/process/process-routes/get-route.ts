import type { Handler, Route } from '#server/http/http-types.ts';
import type { ApiOperation } from '#server/openapi/api-operation.ts';

/** A GET route of the process itself, with its description. */
export function getRoute(path: string, api: ApiOperation, handler: Handler): Route {
  return { operation: api.id, method: 'GET', path, api, handler };
}
