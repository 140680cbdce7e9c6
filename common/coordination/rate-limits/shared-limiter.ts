import { randomUUID } from 'node:crypto';
import type { RequestLimits } from '#kernel/config/settings.ts';
import type { Log } from '#kernel/log/log.ts';
import type { RedisConnection } from '../redis/redis-connection.ts';
import { redisScript } from '../redis/redis-connection.ts';
import { ifQuick, unlessAway } from '../redis/without-redis.ts';

export type Admission = 'admitted' | 'in-flight' | { readonly wait: number };

/** A limit over all processes. No method rejects: while Redis does not respond, each process counts by itself. */
export interface SharedLimiter {
  readonly wantsReports: boolean;
  /**
   * Counts a request, unless it is refused: for too many in flight, or for some milliseconds.
   * @param here requests of the sender in flight in this process, including this one
   */
  admit(sender: string, here: number): Admission | Promise<Admission>;
  /** Reports the number of the sender's requests in flight here, without waiting. */
  report(sender: string, here: number): void;
}

/** For a process that counts by itself. */
export const unsharedLimiter: SharedLimiter = { wantsReports: false, admit: () => 'admitted', report() {} };

/** How long a process's report counts if no other follows: not forever after its death. Milliseconds. */
const reportedFor = 45_000;

/**
 * A sender is one hash: field `b` is its bucket, "<requests> <filled at>", and `p:<process>` is "<in flight> <reported at>".
 * Times are by Redis's clock. A process reports totals, not changes, so the next report corrects a lost one.
 */
const clock = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/** Arguments: rate, burst, most in flight, process, in flight there, how long a report counts, lifetime of the key. */
const admitScript = redisScript(`${clock}
local rate, burst, most = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local own = 'p:' .. ARGV[4]
local dead = {}
if most > 0 then
  local total = tonumber(ARGV[5])
  -- far more than there are processes
  local fields = redis.call('HSCAN', KEYS[1], 0, 'MATCH', 'p:*', 'COUNT', 10000)[2]
  for i = 1, #fields, 2 do
    if fields[i] ~= own then
      local count, at = string.match(fields[i + 1], '^(%d+) (%d+)$')
      if at and now - tonumber(at) < tonumber(ARGV[6]) then total = total + tonumber(count)
      else dead[#dead + 1] = fields[i] end
    end
  end
  if total > most then return -1 end
end
local bucket = nil
if rate > 0 then
  local requests, at = string.match(redis.call('HGET', KEYS[1], 'b') or '', '^([%d.]+) (%d+)$')
  requests = tonumber(requests) or burst
  requests = math.min(burst, requests + math.max(0, now - (tonumber(at) or now)) * rate / 1000)
  if requests < 1 then return math.ceil((1 - requests) * 1000 / rate) end
  bucket = string.format('%.6f %.0f', requests - 1, now)
end
if bucket then redis.call('HSET', KEYS[1], 'b', bucket) end
if most > 0 then redis.call('HSET', KEYS[1], own, string.format('%s %.0f', ARGV[5], now)) end
for i = 1, #dead do redis.call('HDEL', KEYS[1], dead[i]) end
redis.call('PEXPIRE', KEYS[1], ARGV[7])
return 0
`);

/** Arguments: process, in flight there, lifetime of the key. */
const reportScript = redisScript(`${clock}
if ARGV[2] == '0' then return redis.call('HDEL', KEYS[1], 'p:' .. ARGV[1]) end
redis.call('HSET', KEYS[1], 'p:' .. ARGV[1], string.format('%s %.0f', ARGV[2], now))
return redis.call('PEXPIRE', KEYS[1], ARGV[3])
`);

/** @param deps.kind of sender, such as "token" @param deps.patience milliseconds that a request waits for Redis */
export function createSharedLimiter(deps: {
  redis: RedisConnection;
  kind: string;
  limits: RequestLimits;
  log: Log;
  patience?: number;
}): SharedLimiter {
  const { redis, kind, limits, log, patience } = deps;
  const { rate, burst, inFlight } = limits;
  const me = randomUUID();
  // a bucket that is full again needs no memory
  const untilFull = rate === 0 ? 0 : Math.ceil((burst * 1000) / rate);
  const lifetime = Math.max(inFlight === 0 ? 0 : reportedFor, untilFull) + 1000;
  const keyOf = (sender: string): string => `sluice:rate:1:${kind}:${sender}`;
  const tell = (err: unknown): void => log.warn({ err }, 'request rates can not be shared');
  return {
    wantsReports: true,
    async admit(sender, here) {
      const args = [rate, burst, inFlight, me, here, reportedFor, lifetime];
      const asked = redis.run(admitScript, [keyOf(sender)], args);
      const answer = Number((await ifQuick(asked, tell, patience)) ?? 0);
      if (answer === 0) return 'admitted';
      return answer < 0 ? 'in-flight' : { wait: answer };
    },
    report(sender, here) {
      void unlessAway(redis.run(reportScript, [keyOf(sender)], [me, here, lifetime]), tell);
    },
  };
}
