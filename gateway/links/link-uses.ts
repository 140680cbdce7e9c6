import { LRUCache } from 'lru-cache';
import { type RedisConnection, redisScript } from '#coordination/redis/redis-connection.ts';
import { invalidBody, unavailable } from '#kernel/errors/catalogue.ts';
import { upTo } from '#kernel/limits/up-to.ts';

/** Counts the remaining uses of upload links, by their ids. */
export interface LinkUses {
  /** Throws 400 where uses can't be counted. @param lifetime of the link, in milliseconds */
  allow(id: string, times: number, lifetime: number): Promise<void>;
  /** False: no use is left. */
  take(id: string): Promise<boolean>;
  giveBack(id: string): Promise<void>;
}

/** Most links that one process counts; beyond this the oldest stop working. */
const rememberedLinks = 100_000;

/** Counts in this process. */
export class OwnLinkUses implements LinkUses {
  readonly #left = new LRUCache<string, number>({ ...upTo(rememberedLinks) });

  async allow(id: string, times: number, lifetime: number): Promise<void> {
    this.#left.set(id, times, { ttl: lifetime });
  }

  async take(id: string): Promise<boolean> {
    return this.#add(id, -1);
  }

  async giveBack(id: string): Promise<void> {
    this.#add(id, 1);
  }

  #add(id: string, more: number): boolean {
    const left = this.#left.get(id);
    if (left === undefined || left + more < 0) return false;
    this.#left.set(id, left + more, { noUpdateTTL: true });
    return true;
  }
}

/** For several processes without Redis, which can't share a count. */
export const noLinkUses: LinkUses = {
  async allow() {
    throw invalidBody('times needs REDIS_URL: several processes share the count');
  },
  take: async () => false,
  async giveBack() {},
};

const addScript = redisScript(`
local left = tonumber(redis.call('GET', KEYS[1]))
if not left or left + ARGV[1] < 0 then return 0 end
redis.call('SET', KEYS[1], left + ARGV[1], 'KEEPTTL')
return 1
`);

/** Counts for all processes, in Redis. Throws 503 while Redis is down. */
export class RedisLinkUses implements LinkUses {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async allow(id: string, times: number, lifetime: number): Promise<void> {
    await orUnavailable(this.#redis.set(keyOf(id), `${times}`, lifetime));
  }

  async take(id: string): Promise<boolean> {
    return (await orUnavailable(this.#redis.run(addScript, [keyOf(id)], [-1]))) === 1;
  }

  async giveBack(id: string): Promise<void> {
    await this.#redis.run(addScript, [keyOf(id)], [1]);
  }
}

async function orUnavailable<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw unavailable('Redis, which counts the uses of a link, does not answer', error);
  }
}

function keyOf(id: string): string {
  return `sluice:upload-link:1:${id}`;
}
