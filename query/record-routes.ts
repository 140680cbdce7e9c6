import type { Route } from '#server/http/http-types.ts';
import { acceptQuery } from './input/query-media-type.ts';
import { describeOperation } from './openapi/describe-operation.ts';
import { anySpace } from './openapi/space-model.ts';
import type { QueryParts } from './operations/operation.ts';
import { operationRoute } from './operations/operation-route.ts';
import { operations, scopes } from './operations.ts';
import type { InFlightWrites } from './space/in-flight-writes.ts';
import { storesRecords } from './space/open-space.ts';

/** The routes of the table of operations. */
export function recordRoutes(
  opening: Parameters<typeof operationRoute>[1],
  parts: QueryParts,
  inFlight: InFlightWrites,
): Route[] {
  const model = anySpace(scopes);
  return operations.flatMap((operation) => {
    const route = operationRoute(operation, opening, parts);
    const handler = storesRecords(operation) ? inFlight.tracked(route.handler) : route.handler;
    const routes: Route[] = [{ ...route, handler, api: describeOperation(operation, model) }];
    for (const other of operation.also ?? []) {
      const api = describeOperation(operation, model, other);
      const also = { ...route, ...other, handler, api };
      routes.push(other.method === 'QUERY' ? { ...also, optionsHeaders: acceptQuery } : also);
    }
    return routes;
  });
}
