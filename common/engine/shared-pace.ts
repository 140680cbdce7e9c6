import { type RedisConnection, redisScript } from '#coordination/redis/redis-connection.ts';
import { ifQuick } from '#coordination/redis/without-redis.ts';
import type { Log } from '#kernel/log/log.ts';
import { storeOf } from './home.ts';
import type { Pace } from './statement-queues.ts';

/** Milliseconds between the parts of a table, and the most that a statement waits. */
const perPart = 40;
const mostWait = 1000;
/** Of a key that nobody uses any more. */
const lifetime = 10_000;

/**
 * KEYS: a table of a store. ARGV: milliseconds that the statement takes, 1 for one that waits for others alone, the most
 * that one waits, the key's lifetime. Answers when its turn is, from now. Merging a part costs the same whatever is in
 * it. So statements of all processes are spaced out, and those that wait gather more rows.
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

/** A rate limit of all processes for statements that make parts of a table: none without Redis, or while it is away. */
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
