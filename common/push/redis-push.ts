import { LRUCache } from 'lru-cache';
import type { Log } from '../log/log.ts';
import { type RedisConnection, RedisFailure } from '../redis/redis-connection.ts';
import type { Push } from './push.ts';
import { positionScript, publishScript, pushChannel, pushKey } from './push-scripts.ts';

/** Milliseconds. */
export interface PushTimes {
  /** Between two looks at what was published. */
  readonly look: number;
  /** Something that was published so long ago is known, or nothing is trusted. */
  readonly trustFor: number;
}

const usualTimes: PushTimes = { look: 200, trustFor: 800 };
/** Ids that were pushed: how many, and for how long. Longer than anything is kept that was looked up before. */
const pushedIds = { max: 65_536, ttl: 180_000 };
/** Ids that Redis is still to be told. */
const unsentLimit = 1000;
/** Stands for all ids. */
const everything = '*';

/**
 * Pushes through Redis. Every message has a number, and the number of the last one is asked for all the time: so a
 * lost message, a connection that hangs, a restart and a failover all show, and what they hide is never trusted.
 */
export function createRedisPush(args: {
  redis: RedisConnection;
  log: Log;
  times?: PushTimes;
  /** Ids that are remembered; beyond that everything is taken for changed. */
  pushedLimit?: number;
}): Push {
  const { redis, log, times = usualTimes, pushedLimit = pushedIds.max } = args;
  const pushed = new LRUCache<string, number>({ max: pushedLimit, ttl: pushedIds.ttl, ttlResolution: 1000 });
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
    pushed.clear();
  };

  const hear = (message: string): void => {
    const [, from, number, id] = /^(\w+) (\d+) (.+)$/.exec(message) ?? [];
    // the next look tells which server counts
    if (id === undefined || from !== run) return;
    const at = Number(number);
    if (at > position + 1 || id === everything || pushed.size >= pushedLimit) {
      if (at > position) begin(at);
      return;
    }
    position = Math.max(position, at);
    pushed.set(id, at);
  };
  const listener = redis.listen(pushChannel, hear);

  const look = async (): Promise<void> => {
    const sent = performance.now();
    const [server, count] = (await redis.run(positionScript, [pushKey], [])) as [string, string];
    const published = Number(count);
    if (server !== run) {
      run = server;
      begin(published);
    } else if (missing !== null && position < missing) {
      log.warn({ published, heard: position }, 'pushes were missed: everything is looked up again');
      begin(published);
      listener.reconnect();
    }
    missing = published > position ? published : null;
    if (missing === null) provenAt = sent;
  };

  const send = async (id: string): Promise<boolean> => {
    try {
      await redis.run(publishScript, [pushKey], [pushChannel, id]);
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
        if (!(error instanceof RedisFailure)) log.error({ err: error }, 'pushes could not be looked at');
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
      mark === null || mark.generation !== generation || (pushed.get(id) ?? 0) > mark.position,
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
