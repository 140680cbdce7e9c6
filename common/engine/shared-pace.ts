import { type RedisConnection, redisScript } from '#coordination/redis/redis-connection.ts';
import { ifQuick } from '#coordination/redis/without-redis.ts';
import type { Log } from '#kernel/log/log.ts';
import { storeOf } from './home.ts';
import type { Pace } from './statement-queues.ts';

/** Least milliseconds between two new parts of a table, and the longest wait of a statement. */
const perPart = 40;
const mostWait = 1000;
/** Lifetime of an unused key. */
const lifetime = 10_000;

/**
 * KEYS: a table of a store. ARGV: the statement's interval in milliseconds, 1 if it only has to wait for others, the
 * longest wait, the key's lifetime. Answers the milliseconds until its turn. Merging a part costs the same however small
 * it is. So statements of all processes are spaced out, and a waiting statement gathers more rows.
 */
const turnScript = redisScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local free = tonumber(redis.call('GET', KEYS[1]) or '0')
local at = math.max(now, math.min(free, now + ARGV[3]))
if ARGV[2] == '1' and free <= now + ARGV[1] then at = now end
redis.call('SET', KEYS[1], at + ARGV[1], 'PX', ARGV[4])
return at - now
`);

/** A rate limit over all processes for statements that create parts of a table. There is none without Redis, or while it is down. */
export function sharedPace(
  { redis, log }: { readonly redis?: RedisConnection | undefined; readonly log: Pick<Log, 'error'> },
  table: string,
): Pace | undefined {
  if (redis === undefined) return undefined;
  const tell = (error: unknown): void => log.error({ err: error }, 'the turn of a write failed');
  return async ({ queue, lone }) => {
    const args = [perPart, lone ? 1 : 0, mostWait, lifetime];
    const asked = redis.run(turnScript, [`sluice:parts:2:${storeOf(queue)}:${table}`], args);
    return Number((await ifQuick(asked, tell)) ?? 0);
  };
}
