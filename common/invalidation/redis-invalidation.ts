import { LRUCache } from 'lru-cache';
import type { Log } from '../log/log.ts';
import { type RedisConnection, RedisFailure } from '../redis/redis-connection.ts';
import type { Invalidation } from './invalidation.ts';
import {
  invalidationChannel,
  invalidationKey,
  positionScript,
  publishScript,
} from './invalidation-scripts.ts';

/** Milliseconds. */
export interface InvalidationTimes {
  /** Between two looks at what was published. */
  readonly look: number;
  /** Something that was published so long ago is known, or nothing is trusted. */
  readonly trustFor: number;
}

const usualTimes: InvalidationTimes = { look: 200, trustFor: 800 };
/** Ids that were invalidated: how many, and for how long. Longer than anything is kept that was looked up before. */
const idLimits = { max: 65_536, ttl: 180_000 };
/** Ids that are not published yet. */
const unsentLimit = 1000;
/** Stands for all ids. */
const everything = '*';

/**
 * Invalidation through Redis. Every message has a number, and the number of the last one is asked for all the time: so a
 * lost message, a connection that hangs, a restart and a failover all show, and what they hide is never trusted.
 */
export function createRedisInvalidation(args: {
  redis: RedisConnection;
  log: Log;
  times?: InvalidationTimes;
  /** Ids that are remembered; beyond that everything is taken for changed. */
  idLimit?: number;
}): Invalidation {
  const { redis, log, times = usualTimes, idLimit = idLimits.max } = args;
  const invalidated = new LRUCache<string, number>({ max: idLimit, ttl: idLimits.ttl, ttlResolution: 1000 });
  const unsent = new Set<string>();
  let run: string | null = null;
  let generation = 0;
  /** Where the generation began, and the last message of it. */
  let floor = 0;
  let position = 0;
  /** Everything that was published before is known. */
  let provenAt = Number.NEGATIVE_INFINITY;
  /** A number that was there at the last look, and whose message was not here. */
  let missing: number | null = null;
  let looking: Promise<void> | null = null;

  /** Nothing that was learnt before may be kept. */
  const begin = (at: number): void => {
    generation++;
    floor = at;
    position = at;
    invalidated.clear();
  };

  const hear = (message: string): void => {
    const [, from, number, id] = /^(\w+) (\d+) (.+)$/.exec(message) ?? [];
    // the next look tells which server counts
    if (id === undefined || from !== run) return;
    const at = Number(number);
    if (at > position + 1 || id === everything || invalidated.size >= idLimit) {
      if (at > position) begin(at);
      return;
    }
    position = Math.max(position, at);
    invalidated.set(id, at);
  };
  const listener = redis.listen(invalidationChannel, hear);

  const look = async (): Promise<void> => {
    const sent = performance.now();
    const [server, count] = (await redis.run(positionScript, [invalidationKey], [])) as [string, string];
    const published = Number(count);
    if (server !== run) {
      run = server;
      begin(published);
    } else if (missing !== null && position < missing) {
      log.warn({ published, heard: position }, 'invalidations were missed: everything is looked up again');
      begin(published);
      listener.reconnect();
    }
    missing = published > position ? published : null;
    if (missing === null) provenAt = sent;
  };

  /** What this process published counts here at once: the message comes by another connection, and may be late. */
  const noteOwn = (server: string, at: number, id: string): void => {
    if (server !== run || id === everything || invalidated.size >= idLimit) {
      run = server;
      begin(at);
    } else invalidated.set(id, Math.max(at, invalidated.get(id) ?? 0));
  };

  const send = async (id: string): Promise<boolean> => {
    try {
      const answer = await redis.run(publishScript, [invalidationKey], [invalidationChannel, id]);
      const [server, count] = answer as [string, string];
      noteOwn(server, Number(count), id);
      unsent.delete(id);
      return true;
    } catch (error) {
      if (!(error instanceof RedisFailure)) throw error;
      if (unsent.size >= unsentLimit && !unsent.has(id)) {
        unsent.clear();
        unsent.add(everything);
      } else unsent.add(id);
      return false;
    }
  };

  const keep = (): void => {
    looking ??= look()
      .then(async () => {
        await Promise.all([...unsent].map(send));
      })
      // the connection tells of its outages; meanwhile nothing is trusted
      .catch((error: unknown) => {
        if (!(error instanceof RedisFailure)) log.error({ err: error }, 'invalidations could not be read');
      })
      .finally(() => {
        looking = null;
      });
  };
  const timer = setInterval(keep, times.look);
  timer.unref();
  redis.onConnected(keep);

  return {
    mark: () => (run === null ? null : { generation, position }),
    changedSince: (id, mark) =>
      mark === null || mark.generation !== generation || (invalidated.get(id) ?? 0) > mark.position,
    isCurrent: () => performance.now() - provenAt <= times.trustFor,
    publish: send,
    stampOf: (mark) => `${run}:${mark.position}`,
    markOf(stamp) {
      const [server, number] = stamp.split(':');
      const at = Number(number);
      return server === run && at >= floor && at <= position ? { generation, position: at } : null;
    },
    async close() {
      clearInterval(timer);
      listener.close();
      await looking;
    },
  };
}
