import type { RedisConnection } from '#coordination/redis/redis-connection.ts';
import type { Database } from '#engine/database.ts';
import type { Log } from '#kernel/log/log.ts';
import { LoginThrottle, loginThrottleDefaults } from './login-throttle.ts';
import { createStoredKeys } from './signing-keys.ts';

/** The login throttle of a process. With Redis it also counts the failures of other processes. */
export async function openLoginThrottle(services: {
  readonly db: Database;
  readonly database: string;
  readonly redis: RedisConnection | undefined;
  readonly log: Log;
}): Promise<LoginThrottle> {
  const { redis, log } = services;
  if (redis === undefined) return new LoginThrottle();
  const { createSharedFailures } = await import('./shared-failures.ts');
  const keys = createStoredKeys(services);
  const shared = createSharedFailures({ redis, keys, delays: loginThrottleDefaults, log });
  return new LoginThrottle(loginThrottleDefaults, { shared });
}
