import { LRUCache } from 'lru-cache';
import type { Log } from '#kernel/log/log.ts';
import type { Invalidation, StreamPosition } from './invalidation.ts';
import { type RedisConnection, RedisFailure, type RedisListener, redisScript } from './redis-connection.ts';

/** Milliseconds. */
export interface InvalidationTimes {
  /** Interval of polling the number of the last message. */
  readonly poll: number;
  /** Messages of this age must be known, or nothing is trusted. */
  readonly trustFor: number;
}

const usualTimes: InvalidationTimes = { poll: 200, trustFor: 800 };
/** How many invalidated ids are remembered, and how long: longer than any data that was read before is cached. */
const idLimits = { max: 65_536, ttl: 180_000 };
/** Most ids that wait to be published. */
const unsentLimit = 1000;
/** Means all ids. */
const everything = '*';

/** The message counter. It needs no expiry: it is one small number. */
const invalidationKey = 'sluice:{invalidation}:1';
const invalidationChannel = 'sluice:invalidation:1';

/**
 * A restart or a failover changes the run id of the server. A lost counter continues from the time in microseconds, which
 * is always greater. It may be written even when the memory is full: it is one small number.
 */
const prelude = `#!lua flags=allow-oom
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
if not run then return redis.error_reply('NORUNID this server does not tell its run id') end
if redis.call('EXISTS', KEYS[1]) == 0 then
  local time = redis.call('TIME')
  redis.call('SET', KEYS[1], string.format('%d%06d', time[1], time[2]))
end
`;

/** Answers the run id and the number of messages. */
const positionScript = redisScript(`${prelude}
return {run, redis.call('GET', KEYS[1])}
`);

/**
 * Arguments: channel, id. Counts and publishes atomically, so that whoever misses a message also misses a number. Answers
 * the run id and the number.
 */
const publishScript = redisScript(`${prelude}
local position = redis.call('INCR', KEYS[1])
local number = string.format('%.0f', position)
redis.call('PUBLISH', ARGV[1], run .. ' ' .. number .. ' ' .. ARGV[2])
return {run, number}
`);

export interface RedisInvalidationDeps {
  readonly redis: RedisConnection;
  readonly log: Log;
  readonly times?: InvalidationTimes;
  /** Most remembered ids; beyond that everything counts as changed. */
  readonly idLimit?: number;
}

/**
 * Invalidation by Redis pub/sub. Messages are numbered, and the last number is polled. This detects lost messages, hanging
 * connections, restarts and failovers, and no cache is trusted meanwhile.
 */
export class RedisInvalidation implements Invalidation {
  readonly announces = true;
  readonly #redis: RedisConnection;
  readonly #log: Log;
  readonly #times: InvalidationTimes;
  readonly #idLimit: number;
  readonly #listener: RedisListener;
  readonly #timer: NodeJS.Timeout;
  readonly #invalidated: LRUCache<string, number>;
  readonly #unsent = new Set<string>();
  #run: string | null = null;
  #generation = 0;
  /** Numbers of the first and the last message of the generation. */
  #floor = 0;
  #last = 0;
  /** Every message before this time is known. */
  #provenAt = Number.NEGATIVE_INFINITY;
  /** The number at the last check, if its message had not arrived by then. */
  #missing: number | null = null;
  #polling: Promise<void> | null = null;

  constructor({ redis, log, times = usualTimes, idLimit = idLimits.max }: RedisInvalidationDeps) {
    this.#redis = redis;
    this.#log = log;
    this.#times = times;
    this.#idLimit = idLimit;
    this.#invalidated = new LRUCache({ max: idLimit, ttl: idLimits.ttl, ttlResolution: 1000 });
    this.#listener = redis.listen(invalidationChannel, (message) => this.#hear(message));
    this.#timer = setInterval(() => this.#keep(), times.poll);
    this.#timer.unref();
    redis.onConnected(() => this.#keep());
  }

  position(): StreamPosition | null {
    return this.#run === null ? null : { generation: this.#generation, message: this.#last };
  }

  changedSince(id: string, position: StreamPosition | null): boolean {
    if (position === null || position.generation !== this.#generation) return true;
    return (this.#invalidated.get(id) ?? 0) > position.message;
  }

  isCurrent(): boolean {
    return performance.now() - this.#provenAt <= this.#times.trustFor;
  }

  async publish(id: string): Promise<boolean> {
    try {
      const answer = await this.#redis.run(publishScript, [invalidationKey], [invalidationChannel, id]);
      const [server, count] = answer as [string, string];
      this.#noteOwn(server, Number(count), id);
      this.#unsent.delete(id);
      return true;
    } catch (error) {
      if (!(error instanceof RedisFailure)) throw error;
      if (this.#unsent.size >= unsentLimit && !this.#unsent.has(id)) {
        this.#unsent.clear();
        this.#unsent.add(everything);
      } else this.#unsent.add(id);
      return false;
    }
  }

  stampOf(position: StreamPosition): string {
    return `${this.#run}:${position.message}`;
  }

  positionOf(stamp: string): StreamPosition | null {
    const [server, number] = stamp.split(':');
    const message = Number(number);
    const known = server === this.#run && message >= this.#floor && message <= this.#last;
    return known ? { generation: this.#generation, message } : null;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#listener.close();
    await this.#polling;
  }

  /** Begins a generation: data that was read before must not be cached. */
  #begin(at: number): void {
    this.#generation++;
    this.#floor = at;
    this.#last = at;
    this.#invalidated.clear();
  }

  #hear(message: string): void {
    const [, from, number, id] = /^(\w+) (\d+) (.+)$/.exec(message) ?? [];
    // the next check decides which server is current
    if (id === undefined || from !== this.#run) return;
    const at = Number(number);
    if (at > this.#last + 1 || id === everything || this.#invalidated.size >= this.#idLimit) {
      if (at > this.#last) this.#begin(at);
      return;
    }
    this.#last = Math.max(this.#last, at);
    this.#invalidated.set(id, at);
  }

  /** This process's own invalidation takes effect here at once: its message comes by another connection, and may be late. */
  #noteOwn(server: string, at: number, id: string): void {
    if (server !== this.#run || id === everything || this.#invalidated.size >= this.#idLimit) {
      this.#run = server;
      this.#begin(at);
    } else this.#invalidated.set(id, Math.max(at, this.#invalidated.get(id) ?? 0));
  }

  async #poll(): Promise<void> {
    const sent = performance.now();
    const [server, count] = (await this.#redis.run(positionScript, [invalidationKey], [])) as [
      string,
      string,
    ];
    const published = Number(count);
    if (server !== this.#run) {
      this.#run = server;
      this.#begin(published);
    } else if (this.#missing !== null && this.#last < this.#missing) {
      const heard = this.#last;
      this.#log.warn({ published, heard }, 'invalidations were missed: everything is looked up again');
      this.#begin(published);
      this.#listener.reconnect();
    }
    this.#missing = published > this.#last ? published : null;
    if (this.#missing === null) this.#provenAt = sent;
  }

  #keep(): void {
    this.#polling ??= this.#poll()
      .then(async () => {
        await Promise.all([...this.#unsent].map((id) => this.publish(id)));
      })
      // the connection reports its outages; meanwhile nothing is trusted
      .catch((error: unknown) => {
        if (!(error instanceof RedisFailure))
          this.#log.error({ err: error }, 'invalidations could not be read');
      })
      .finally(() => {
        this.#polling = null;
      });
  }
}
