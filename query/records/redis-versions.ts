import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../common/log/log.ts';
import { type RedisConnection, RedisFailure } from '../../common/redis/redis-connection.ts';
import { redisScript } from '../../common/redis/redis-script.ts';
import { unlessAway, unlessLate } from '../../common/redis/without-redis.ts';
import { type SpaceVersions, versionLifetime } from './space-versions.ts';

/** Of the wait of a writer, for what the clocks may differ in that time. */
const marginShare = 0.1;
/** Milliseconds after which it is quicker to ask the database. */
const patience = 250;

/**
 * text, lifetime. The version is that of a server's run: a replica that takes over may not have heard of a change. It
 * ends so long after it was made, and reading does not prolong that.
 */
const readScript = redisScript(`
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
if not run then return redis.error_reply('NORUNID this server does not tell its run id') end
local version = redis.call('GET', KEYS[1])
if not version then
  version = ARGV[1]
  redis.call('SET', KEYS[1], version, 'PX', ARGV[2])
end
return run .. ':' .. version
`);

/**
 * Versions that processes share. A writer only removes the version, which costs no memory and can be done when there
 * is none left; the next reader makes another one. A writer that can't remove it waits until it has ended by itself.
 */
export function createRedisVersions(args: {
  redis: RedisConnection;
  log: Log;
  lifetime?: number;
}): SpaceVersions {
  const { redis, log, lifetime = versionLifetime } = args;
  /** Changes that are not sent yet: writes of one moment share one. */
  const next = new Map<string, Promise<void>>();

  const remove = async (spaceId: string): Promise<void> => {
    await new Promise<void>((resolve) => setImmediate(resolve));
    // a write that can be seen from now on needs another one
    next.delete(spaceId);
    const began = performance.now();
    try {
      await redis.remove(keyOf(spaceId));
    } catch (error) {
      if (!(error instanceof RedisFailure)) log.error({ err: error }, 'a version could not be changed');
      await sleep(lifetime * (1 + marginShare) - (performance.now() - began));
    }
  };

  return {
    async read(spaceId) {
      const version = redis.run(readScript, [keyOf(spaceId)], [randomUUID(), lifetime]).then(String);
      const tell = (error: unknown): void => log.error({ err: error }, 'a version could not be read');
      return unlessLate(unlessAway(version, tell), patience);
    },
    change(spaceId) {
      let change = next.get(spaceId);
      if (change === undefined) {
        change = remove(spaceId);
        next.set(spaceId, change);
      }
      return change;
    },
  };
}

export function keyOf(spaceId: string): string {
  return `sluice:version:1:${spaceId}`;
}
