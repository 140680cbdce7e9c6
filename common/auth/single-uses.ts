import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type RedisConnection, redisScript } from '#coordination/redis/redis-connection.ts';
import { unavailable } from '#kernel/errors/catalogue.ts';
import { upTo } from '#kernel/limits/up-to.ts';

/** Remembers what was used, so that nothing is used twice. */
export interface SingleUses {
  /** False: it was used before. @param lifetime milliseconds after which the text is invalid anyway */
  take(text: string, lifetime: number): Promise<boolean>;
}

/** Most uses that one process remembers. */
const most = 100_000;

/** Remembers in this process. */
export class OwnUses implements SingleUses {
  readonly #used = new LRUCache<string, true>({ ...upTo(most) });

  async take(text: string, lifetime: number): Promise<boolean> {
    const key = keyOf(text);
    if (this.#used.has(key)) return false;
    this.#used.set(key, true, { ttl: lifetime });
    return true;
  }
}

const takeScript = redisScript(`
if redis.call('SET', KEYS[1], '1', 'NX', 'PX', ARGV[1]) then return 1 end
return 0
`);

/** Remembers for all processes, in Redis. Throws 503 while Redis is down. */
export class RedisUses implements SingleUses {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async take(text: string, lifetime: number): Promise<boolean> {
    try {
      return (await this.#redis.run(takeScript, [`sluice:used:1:${keyOf(text)}`], [lifetime])) === 1;
    } catch (error) {
      throw unavailable('Redis, which remembers what was used, does not answer', error);
    }
  }
}

export function openSingleUses(redis: RedisConnection | undefined): SingleUses {
  return redis === undefined ? new OwnUses() : new RedisUses(redis);
}

function keyOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
