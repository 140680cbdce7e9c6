import t from 'tap';
import { consoleTable, gatewayTable, processRoutes, queryTable } from '../services/openapi-document.ts';

t.test('every route has the name of an operation, by which it is measured, logged and traced', async (t) => {
  const routes = processRoutes([...gatewayTable(), ...queryTable(), ...consoleTable()]);
  t.ok(routes.length > 20);
  for (const { method, path, operation, api } of routes) {
    t.match(operation, /^[a-zA-Z]+$/, `${method} ${path}`);
    t.equal(api === undefined, path.startsWith('/_console_'), `${method} ${path} is described`);
  }
});
