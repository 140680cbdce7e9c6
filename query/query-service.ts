import { createStoredKeys } from '../common/auth/signing-keys.ts';
import type { ServiceFactory } from '../common/lifecycle/run-process.ts';
import { queryExamples } from './examples.ts';
import { failureDelays } from './login/failure-delays.ts';
import { createSharedFailures } from './login/shared-failures.ts';
import { createLocalVersions, noVersions } from './records/local-versions.ts';
import { createRedisVersions } from './records/redis-versions.ts';
import { queryRoutes } from './routes.ts';
import { createSpaceCatalogue } from './space/space-catalogue.ts';
import { createRedisReservations } from './unique/redis-reservations.ts';
import { createLocalReservations } from './unique/unique-reservations.ts';

/** The query service on the stores of its process. */
export const queryService: ServiceFactory = async (services) => {
  const { redis, log, config } = services;
  if (redis === undefined && config.clickhouse !== undefined) {
    log.warn('without REDIS_URL, values of unique fields are kept apart within this process only');
  }
  const catalogue = createSpaceCatalogue(services);
  const everUsed = async (signal: AbortSignal): Promise<boolean> => !(await catalogue.isEmpty(signal));
  const reservations =
    redis === undefined ? createLocalReservations() : createRedisReservations({ redis, log, everUsed });
  // the embedded engine serves one process
  const versions =
    config.clickhouse === undefined
      ? createLocalVersions()
      : redis === undefined
        ? noVersions
        : createRedisVersions({ redis, log });
  const sharedFailures =
    redis === undefined
      ? undefined
      : createSharedFailures({ redis, keys: createStoredKeys(services), delays: failureDelays, log });
  return {
    routes: queryRoutes({ ...services, reservations, versions, sharedFailures }),
    // not Redis: most requests do without it
    readiness: [],
    examples: queryExamples,
    close: () => reservations.close(),
  };
};
