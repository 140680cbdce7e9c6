import type { RedisConnection } from '#coordination/redis/redis-connection.ts';
import { redisScript } from '#coordination/redis/redis-connection.ts';
import { ifQuick } from '#coordination/redis/without-redis.ts';
import type { Log } from '#kernel/log/log.ts';
import { createKeyedHash, type SigningKeys } from './signing-keys.ts';

/** The backoff after failed logins. */
export interface FailureDelays {
  /** Failures without a delay, and concurrent attempts of one identity. */
  readonly free: number;
  /** Milliseconds after the first failure beyond `free`; each further failure doubles it. */
  readonly firstDelay: number;
  readonly longestDelay: number;
  /** How long failures are remembered after the last of them. Milliseconds. */
  readonly rememberedFor: number;
}

/** Counters of failed logins that all processes share. No method rejects. */
export interface SharedFailures {
  /**
   * Begins an attempt, which counts as failed until it succeeds, and answers 0. Otherwise counts nothing, and answers the
   * milliseconds until the identity's next attempt may begin, or null when Redis fails.
   */
  begin(identity: string): Promise<number | null>;
  /** Forgets the failures of an identity that logged in. */
  forget(identity: string): Promise<void>;
  /** Takes back an attempt without an outcome. */
  withdraw(identity: string): Promise<void>;
}

/** Times are those of Redis' clock, so that the processes' clocks may differ. A value is "<failures> <ready at>". */
const read = `
local failures, readyAt = string.match(redis.call('GET', KEYS[1]) or '0 0', '^(%d+) (%d+)$')
failures, readyAt = tonumber(failures) or 0, tonumber(readyAt) or 0
`;

/** Arguments: free, first delay, longest delay, lifetime of the key. */
const beginScript = redisScript(`${read}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if readyAt > now then return readyAt - now end
failures = failures + 1
local costly = failures - tonumber(ARGV[1])
local delay = 0
if costly > 0 then delay = math.min(tonumber(ARGV[3]), tonumber(ARGV[2]) * 2 ^ (costly - 1)) end
redis.call('SET', KEYS[1], string.format('%.0f %.0f', failures, now + delay), 'PX', ARGV[4])
return 0
`);

/** Argument: lifetime of the key. */
const withdrawScript = redisScript(`${read}
if failures > 1 then redis.call('SET', KEYS[1], string.format('%.0f 0', failures - 1), 'PX', ARGV[1])
else redis.call('DEL', KEYS[1]) end
return 0
`);

/**
 * Failures in Redis, under a keyed hash that hides the identity from readers of Redis. While Redis is down or full, each
 * process uses its own count.
 */
export function createSharedFailures(deps: {
  redis: RedisConnection;
  keys: Pick<SigningKeys, 'current'>;
  delays: FailureDelays;
  log: Log;
}): SharedFailures {
  const { redis, keys, delays, log } = deps;

  const keyedHash = createKeyedHash(keys, 'sluice login failures 1');
  const ask = (identity: string, command: (key: string) => Promise<unknown>): Promise<unknown> => {
    const asked = keyedHash(identity).then((hash) => command(`sluice:login:1:${hash.toString('base64url')}`));
    return ifQuick(asked, (err) => log.warn({ err }, 'failed logins cannot be shared'));
  };

  return {
    async begin(identity) {
      const { free, firstDelay, longestDelay, rememberedFor } = delays;
      const args = [free, firstDelay, longestDelay, rememberedFor];
      const wait = await ask(identity, (key) => redis.run(beginScript, [key], args));
      return wait === null ? null : Number(wait);
    },
    async forget(identity) {
      await ask(identity, (key) => redis.remove(key));
    },
    async withdraw(identity) {
      await ask(identity, (key) => redis.run(withdrawScript, [key], [delays.rememberedFor]));
    },
  };
}
