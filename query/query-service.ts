import type { ServiceFactory } from '../common/lifecycle/run-process.ts';
import { queryRoutes } from './routes.ts';

/** The query service on the stores of its process. */
export const queryService: ServiceFactory = async (services) => ({
  routes: queryRoutes(services),
  readiness: [],
  close: async () => {},
});
