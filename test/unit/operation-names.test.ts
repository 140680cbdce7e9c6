import t from 'tap';
import { healthRoutes } from '../../common/http/health-routes.ts';
import { metricsRoute } from '../../common/metrics/metrics-route.ts';
import { gatewayRoutes } from '../../gateway/routes.ts';
import { queryRoutes } from '../../query/query-service.ts';

t.test('every route has the name of an operation, by which it is measured, logged and traced', async (t) => {
  const untouched = {} as never;
  const routes = [
    ...healthRoutes([], () => null),
    metricsRoute({ token: undefined, read: async () => '' }),
    ...gatewayRoutes(untouched),
    ...queryRoutes({
      config: { recordCacheBytes: 0 } as never,
      ...{ db: untouched, database: '', alone: false, projects: untouched, authenticate: untouched },
    }),
  ];
  t.ok(routes.length > 20);
  for (const { method, path, operation } of routes) t.match(operation, /^[a-zA-Z]+$/, `${method} ${path}`);
});
