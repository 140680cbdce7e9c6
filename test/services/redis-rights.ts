import { startRedis } from './redis.ts';

/** The rights that docs/redis.md asks for, as arguments of ACL SETUSER. */
export const redisRights = [
  ...['~sluice:*', 'resetchannels', '&sluice:*', '-@all'],
  ...['+get', '+set', '+del', '+unlink', '+exists', '+incr', '+pexpire', '+publish', '+subscribe', '+ping'],
  ...['+info', '+time', '+eval', '+evalsha', '+hget', '+hset', '+hmget', '+hdel', '+hscan'],
  ...['+zadd', '+zrem', '+zcount', '+zremrangebyscore'],
  ...['+rpush', '+rpushx', '+lindex', '+llen', '+lrange', '+lset', '+ltrim'],
] as const;

/** And those on a cluster. */
export const clusterRights = ['+cluster|slots', '+cluster|info'] as const;

/** A server whose user `sluice` has the rights that docs/redis.md names, and no more. */
export async function startRestrictedRedis() {
  const password = 'hunter2-of-sluice';
  const server = await startRedis({ args: ['--user', 'sluice', 'on', `>${password}`, ...redisRights] });
  return { ...server, user: { username: 'sluice', password } };
}
