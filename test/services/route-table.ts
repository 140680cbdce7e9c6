import { webhookRoutes } from '../../events/webhook-routes.ts';
import { gatewayRoutes } from '../../gateway/routes.ts';
import { untouchedQueryRoutes } from './plain-store.ts';

/** Method and path pattern of every route that the gateway and the query service serve, as their own tables say. */
export function routeTable(): readonly string[] {
  // nothing is called while the tables are made: what the handlers would need is never reached
  const untouched = {} as never;
  const routes = [...untouchedQueryRoutes(), ...webhookRoutes(untouched), ...gatewayRoutes(untouched)];
  return routes.map(({ method, path }) => `${method} ${path}`).sort();
}
