import { redisScript } from './redis-script.ts';

/** Counts what is published. It has no time to live: one small number. */
export const invalidationKey = 'sluice:{invalidation}:1';
export const invalidationChannel = 'sluice:invalidation:1';

/**
 * Whatever restarts a server, or puts another in its place, changes its run id. A count that was lost goes on from the
 * time in microseconds, which is always more. It is written also when the memory is full: it is one small number.
 */
const prelude = `#!lua flags=allow-oom
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
if not run then return redis.error_reply('NORUNID this server does not tell its run id') end
if redis.call('EXISTS', KEYS[1]) == 0 then
  local time = redis.call('TIME')
  redis.call('SET', KEYS[1], string.format('%d%06d', time[1], time[2]))
end
`;

/** Answers the run id and how many were published. */
export const positionScript = redisScript(`${prelude}
return {run, redis.call('GET', KEYS[1])}
`);

/**
 * channel, id. Counts and publishes as one step, so that nobody misses one without missing a number. Answers the run id
 * and the number.
 */
export const publishScript = redisScript(`${prelude}
local position = redis.call('INCR', KEYS[1])
local number = string.format('%.0f', position)
redis.call('PUBLISH', ARGV[1], run .. ' ' .. number .. ' ' .. ARGV[2])
return {run, number}
`);
