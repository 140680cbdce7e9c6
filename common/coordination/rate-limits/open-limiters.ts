import type { Config } from '#kernel/config/read-config.ts';
import type { RequestLimits } from '#kernel/config/settings.ts';
import type { Log } from '#kernel/log/log.ts';
import type { RedisConnection } from '../redis/redis-connection.ts';
import { type Limiter, RequestLimiter, unlimited } from './request-limiter.ts';
import { createSharedLimiter, unsharedLimiter } from './shared-limiter.ts';

export interface RequestLimiters {
  readonly token: Limiter;
  readonly address: Limiter;
}

/** Opens the limiters of the configuration. */
export function openLimiters(
  { tokenLimits, addressLimits }: Pick<Config, 'tokenLimits' | 'addressLimits'>,
  { redis, log }: { redis: RedisConnection | undefined; log: Log },
): RequestLimiters {
  const open = (kind: string, limits: RequestLimits): Limiter => {
    if (limits.rate === 0 && limits.inFlight === 0) return unlimited;
    const shared = redis === undefined ? unsharedLimiter : createSharedLimiter({ redis, kind, limits, log });
    return new RequestLimiter({ limits, shared });
  };
  return { token: open('token', tokenLimits), address: open('address', addressLimits) };
}
