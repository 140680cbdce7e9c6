import { setTimeout as sleep } from 'node:timers/promises';
import {
  type RedisConnection,
  RedisFailure,
  type RedisListener,
  redisScript,
} from '#coordination/redis/redis-connection.ts';
import { unavailable } from '#kernel/errors/catalogue.ts';
import { chunksOf } from '#kernel/limits/chunks-of.ts';
import type { Log } from '#kernel/log/log.ts';
import type { Engine, StopListening } from '../store/record-store.ts';
import type { ChangeListener, RowChange } from '../store/row-change.ts';
import { rowsById } from '../store/rows-by-id.ts';
import type { CacheOutages } from './cache-outages.ts';
import { changesChannel, idsOf, tellLua } from './change-log.ts';
import { keysOf, nowLua } from './redis-versions.ts';

/** Milliseconds. */
interface ChangeTimes {
  /** Between two reads of a space without messages. */
  readonly poll: number;
  /** How long writers keep logging after the last read. */
  readonly heard: number;
  /** For the first answer whether a process writes without Redis. */
  readonly patience: number;
  /** For reading changed records, and before a retry. */
  readonly read: number;
  readonly pause: number;
}

const usualTimes: ChangeTimes = {
  poll: 500,
  heard: 10_000,
  patience: 1000,
  read: 10_000,
  pause: 200,
};
/** Entries of one read, records of one statement, and how often the statement is tried. */
const limits = { entries: 1000, records: 1000, tries: 3 };

/**
 * KEYS: version, writers, changes. ARGV: run id, number of the last known entry, lifetime, entries. Returns the run
 * id, the number of the last entry, and the entries after the known one; without these, some were missed. Numbers that were
 * lost continue from the time in microseconds, which is always more.
 */
const readScript = redisScript(`${tellLua}${nowLua}
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
if not run then return redis.error_reply('NORUNID this server does not tell its run id') end
if redis.call('PEXPIRE', KEYS[3], ARGV[3]) == 0 then
  -- a user without this right fails here, and not in writers
  redis.call('RPUSHX', KEYS[3], '')
  redis.call('RPUSH', KEYS[3], string.format('%d%06d', time[1], time[2]))
  redis.call('PEXPIRE', KEYS[3], ARGV[3])
end
forgetDead(KEYS[2], now, KEYS[3])
local before = redis.call('LINDEX', KEYS[3], 0)
local kept = redis.call('LLEN', KEYS[3]) - 1
local last = string.format('%.0f', before + kept)
local known = ARGV[2] - before
if run ~= ARGV[1] or known < 0 or known > kept then return {run, last} end
return {run, last, redis.call('LRANGE', KEYS[3], known + 1, known + ARGV[4])}
`);

interface RedisChangesParts extends Engine {
  readonly redis: RedisConnection;
  readonly outages: Pick<CacheOutages, 'trusted' | 'period'>;
  readonly log: Pick<Log, 'warn' | 'error'>;
  readonly times?: Partial<ChangeTimes>;
}

/** A listener of a space, and what it has read. */
interface Subscription {
  readonly spaceId: string;
  readonly listener: ChangeListener;
  /** The run of the server, and the number of the last entry, that the listener knows. */
  run: string;
  last: number;
  /** The last period without outages (`CacheOutages`). */
  period: number;
  isReading: boolean;
  /** There may be unread entries. */
  hasMore: boolean;
}

/**
 * Change data capture between processes: each write appends its ids to a log in Redis, and this class reads the records as they
 * are then. Reads run one after another, so a listener never goes back to an older state. It reads everything again when
 * entries were lost, a writer died, or a process wrote without Redis.
 */
export class RedisChanges {
  readonly #parts: RedisChangesParts;
  readonly #times: ChangeTimes;
  /** By the key in Redis. */
  readonly #spaces = new Map<string, Subscription>();
  #messages: RedisListener | undefined;
  #polling: NodeJS.Timeout | undefined;

  constructor(parts: RedisChangesParts) {
    this.#parts = parts;
    this.#times = { ...usualTimes, ...parts.times };
  }

  async listen(spaceId: string, listener: ChangeListener, signal: AbortSignal): Promise<StopListening> {
    const { redis, outages } = this.#parts;
    this.#messages ??= redis.listen(changesChannel, (key) => this.#read(this.#spaces.get(key)));
    await this.#untilTrusted(signal);
    const state = { run: '', last: 0, period: outages.period, isReading: false, hasMore: false };
    const space: Subscription = { spaceId, listener, ...state };
    try {
      await this.#entries(space);
    } catch (error) {
      throw unavailable('Writes of other processes are not heard', error);
    }
    signal.throwIfAborted();
    const [, , key] = keysOf(spaceId);
    this.#spaces.set(key, space);
    this.#polling ??= setInterval(() => this.#poll(), this.#times.poll).unref();
    return () => {
      if (this.#spaces.get(key) === space) this.#spaces.delete(key);
      if (this.#spaces.size === 0) this.#stopPolling();
    };
  }

  close(): void {
    this.#spaces.clear();
    this.#stopPolling();
    this.#messages?.close();
  }

  #stopPolling(): void {
    clearInterval(this.#polling);
    this.#polling = undefined;
  }

  /** Otherwise the listener would read everything again as soon as the period is known. */
  async #untilTrusted(signal: AbortSignal): Promise<void> {
    const deadline = performance.now() + this.#times.patience;
    while (!this.#parts.outages.trusted() && performance.now() < deadline) {
      await sleep(10);
      signal.throwIfAborted();
    }
  }

  #poll(): void {
    const { outages } = this.#parts;
    outages.trusted();
    for (const space of this.#spaces.values()) {
      if (space.period !== outages.period) {
        space.period = outages.period;
        space.listener.reset();
      }
      this.#read(space);
    }
  }

  #read(space: Subscription | undefined): void {
    if (space === undefined) return;
    space.hasMore = true;
    if (!space.isReading) void this.#readAll(space);
  }

  /** Never rejects. */
  async #readAll(space: Subscription): Promise<void> {
    space.isReading = true;
    while (space.hasMore && this.#isHeard(space)) {
      space.hasMore = false;
      try {
        const entries = await this.#entries(space);
        if (entries === null) this.#reset(space);
        else await this.#tell(space, entries);
      } catch (error) {
        // while Redis is unreachable nothing is known; reading then continues from the same entry
        if (!(error instanceof RedisFailure))
          this.#parts.log.error({ err: error }, 'changes could not be read');
      }
    }
    space.isReading = false;
  }

  /** The entries after the last known one; null: some were missed. */
  async #entries(space: Subscription): Promise<readonly string[] | null> {
    const args = [space.run, space.last, this.#times.heard, limits.entries];
    const answer = await this.#parts.redis.run(readScript, keysOf(space.spaceId), args);
    const [run, last, entries] = answer as [string, string, string[]?];
    space.run = run;
    space.last = entries === undefined ? Number(last) : space.last + entries.length;
    if (space.last < Number(last)) space.hasMore = true;
    return entries ?? null;
  }

  async #tell(space: Subscription, entries: readonly string[]): Promise<void> {
    const ids = idsOf(entries);
    if (ids === null) return this.#reset(space);
    for (const some of chunksOf([...ids], limits.records)) {
      const changes = await space.listener.exclusive(async () => {
        const read = await this.#changes(space, some);
        if (read !== null && this.#isHeard(space)) space.listener.changed(read, read.length);
        return read;
      });
      if (changes === null) return this.#reset(space);
    }
  }

  /** Null: the database does not answer. @param ids and whether they are new */
  async #changes(
    { spaceId }: Subscription,
    ids: readonly (readonly [id: string, isNew: boolean])[],
  ): Promise<readonly RowChange[] | null> {
    const addresses = ids.map(([id]) => ({ spaceId, id }));
    for (let tries = 1; ; tries++) {
      try {
        const rowOf = await rowsById(this.#parts, addresses, AbortSignal.timeout(this.#times.read));
        return ids.map(([id, isNew]) => ({
          id,
          before: isNew ? null : undefined,
          after: rowOf({ spaceId, id }),
        }));
      } catch (error) {
        if (tries < limits.tries) await sleep(this.#times.pause * tries);
        else {
          this.#parts.log.warn({ err: error }, 'changed records could not be read: all are read again');
          return null;
        }
      }
    }
  }

  #reset(space: Subscription): void {
    if (this.#isHeard(space)) space.listener.reset();
  }

  #isHeard(space: Subscription): boolean {
    return this.#spaces.get(keysOf(space.spaceId)[2]) === space;
  }
}
