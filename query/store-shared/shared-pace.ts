import { storeOf } from '../../common/clickhouse/home.ts';
import type { Log } from '../../common/log/log.ts';
import { type RedisConnection, redisScript } from '../../common/redis/redis-connection.ts';
import { ifQuick } from '../../common/redis/without-redis.ts';
import type { WritePace } from '../store/statement-writes.ts';

/** Milliseconds between parts of a store, and the most that a statement waits. */
const perPart = 40;
const mostWait = 1000;
/** Of a key that nobody uses any more. */
const lifetime = 10_000;

/**
 * KEYS: a store. ARGV: milliseconds that the statement takes, 1 for one that waits for others alone, the most that one
 * waits, the key's lifetime. Answers when its turn is, from now. A part is merged away by the same work whatever is in it,
 * so statements keep a distance, in all processes together: those that wait have more in them.
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

/** Keeps the distance of statements that make parts. Without Redis, or while it is away, they have none. */
export class SharedPace implements WritePace {
  readonly #redis: RedisConnection;
  readonly #log: Pick<Log, 'error'>;

  constructor({ redis, log }: { readonly redis: RedisConnection; readonly log: Pick<Log, 'error'> }) {
    this.#redis = redis;
    this.#log = log;
  }

  async turn({ queue, alone, parts }: Parameters<WritePace['turn']>[0]): Promise<number> {
    const args = [parts * perPart, alone ? 1 : 0, mostWait, lifetime];
    const asked = this.#redis.run(turnScript, [`sluice:parts:1:${storeOf(queue)}`], args);
    const wait = await ifQuick(asked, (error) =>
      this.#log.error({ err: error }, 'the turn of a write failed'),
    );
    return wait === null ? 0 : Number(wait);
  }
}
