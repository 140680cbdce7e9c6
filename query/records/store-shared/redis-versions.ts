import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisConnection } from '#coordination/redis/redis-connection.ts';
import { redisScript } from '#coordination/redis/redis-connection.ts';
import { unlessAway } from '#coordination/redis/without-redis.ts';
import { unavailable } from '#kernel/errors/catalogue.ts';
import { resultWithin, settledWithin } from '#kernel/limits/deadline.ts';
import type { Log } from '#kernel/log/log.ts';
import type { EndWrite } from '../store/statement-writes.ts';
import type { CacheOutages } from './cache-outages.ts';
import { atMost, entriesOf, tellLua } from './change-log.ts';
import { type SpaceVersions, versionLifetime } from './space-versions.ts';

/** Milliseconds. */
interface VersionTimes {
  readonly lifetime: number;
  /** After this, querying the database is quicker. */
  readonly readPatience: number;
  /** After this, a writer takes Redis for unreachable. */
  readonly writePatience: number;
  /** The lease of a writer in Redis, and how often it is renewed. */
  readonly writerLifetime: number;
  readonly renewEvery: number;
  /**
   * A server that started more recently may have lost writers. By then they have renewed, or an outage is announced. More
   * than it takes to renew, to be late (`writePatience`) and to announce the outage.
   */
  readonly settledAfter: number;
}

const usualTimes: VersionTimes = {
  lifetime: versionLifetime,
  readPatience: 250,
  writePatience: 1000,
  writerLifetime: 30_000,
  renewEvery: 1000,
  settledAfter: 5000,
};
/** Part of the wait of a writer, because the clocks may run at different speeds. */
const marginShare = 0.1;

/** Lua: milliseconds. */
export const nowLua = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;
/**
 * KEYS: version, writers. ARGV: text, lifetime, seconds. A version belongs to one run of the server: a replica or a snapshot
 * has an older one.
 */
const readScript = redisScript(`
local info = redis.call('INFO', 'server')
local run = string.match(info, 'run_id:(%w+)')
local uptime = string.match(info, 'uptime_in_seconds:(%d+)')
if not run or not uptime then return redis.error_reply('NORUNID this server does not tell its run id') end
if tonumber(uptime) < tonumber(ARGV[3]) then return false end
${nowLua}
if redis.call('ZCOUNT', KEYS[2], now, '+inf') > 0 then return false end
local version = redis.call('GET', KEYS[1])
if not version then
  version = ARGV[1]
  redis.call('SET', KEYS[1], version, 'PX', ARGV[2])
end
return run .. ':' .. version
`);
/**
 * KEYS: writers, changes. ARGV: writer, lifetime. Also removes writers that died. Listeners have to learn of these, so
 * dead writers are kept longer than they count.
 */
const beginScript = redisScript(`${tellLua}${nowLua}
forgetDead(KEYS[1], now, KEYS[2])
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[1], 2 * ARGV[2])
return 1
`);
/**
 * KEYS: version, writers, changes. ARGV: writer, or nothing when others of its process still write; entries for listeners.
 * A listener that subscribes later sees the write.
 */
const endScript = redisScript(`${tellLua}
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
tell(KEYS[3], {unpack(ARGV, 2)})
return 1
`);

/** The writes of this process to one space that overlap. */
interface Writers {
  readonly id: string;
  count: number;
  /** Whether Redis knows of the writes. */
  begun: Promise<boolean>;
  /** Writes that end at one moment share a command. */
  ending: Promise<boolean> | null;
  /** What the writes did, for listeners. */
  entries: string[];
}

interface RedisVersionsParts {
  readonly redis: RedisConnection;
  readonly outages: CacheOutages;
  readonly log: Log;
  readonly times?: Partial<VersionTimes>;
}

/** Versions of spaces in Redis. A writer that can't reach Redis notifies all readers through ClickHouse. */
export class RedisVersions implements SpaceVersions {
  readonly #parts: RedisVersionsParts;
  readonly #times: VersionTimes;
  /** Requests of one turn of the event loop share a read. */
  readonly #reads = new Map<string, Promise<string | null>>();
  readonly #writers = new Map<string, Writers>();
  #renewing: NodeJS.Timeout | undefined;

  constructor(parts: RedisVersionsParts) {
    this.#parts = parts;
    this.#times = { ...usualTimes, ...parts.times };
  }

  async read(spaceId: string): Promise<string | null> {
    if (!this.#parts.outages.trusted()) return null;
    const shared = this.#reads.get(spaceId);
    if (shared !== undefined) return shared;
    const read = this.#read(spaceId);
    this.#reads.set(spaceId, read);
    return read;
  }

  async #read(spaceId: string): Promise<string | null> {
    await nextTurn();
    // later requests need a new read
    this.#reads.delete(spaceId);
    const { lifetime, readPatience, settledAfter } = this.#times;
    // whole seconds; the first one may be short
    const seconds = Math.ceil(settledAfter / 1000) + Math.sign(settledAfter);
    const version = this.#parts.redis.run(readScript, keysOf(spaceId), [randomUUID(), lifetime, seconds]);
    return resultWithin(
      this.#unlessAway(version.then((text) => (text === null ? null : String(text)))),
      readPatience,
    );
  }

  async begin(spaceId: string): Promise<EndWrite> {
    const writers = this.#join(spaceId);
    try {
      if (this.#parts.outages.covered) void this.#coverUnless(writers.begun).catch(() => {});
      else await this.#coverUnless(writers.begun);
    } catch (error) {
      void this.#leave(spaceId, writers, []);
      throw unavailable('Other processes do not hear of the write', error);
    }
    return (written) => this.#end(spaceId, writers, entriesOf(written));
  }

  async #end(spaceId: string, writers: Writers, entries: readonly string[]): Promise<void> {
    const left = this.#leave(spaceId, writers, entries);
    if (this.#parts.outages.covered || (await left)) return;
    const rest = this.#times.lifetime * (1 + marginShare);
    // without Redis and ClickHouse, all existing versions have to expire
    const covered = this.#parts.outages.cover().catch(() => sleep(rest));
    await settledWithin(covered, rest);
  }

  /** Resolves when Redis has the write, or an outage is announced. */
  async #coverUnless(known: Promise<boolean>): Promise<void> {
    if (!(await known)) await this.#parts.outages.cover();
  }

  #join(spaceId: string): Writers {
    let writers = this.#writers.get(spaceId);
    if (writers === undefined) {
      const id = randomUUID();
      writers = { id, count: 0, begun: this.#sendBegin(spaceId, id), ending: null, entries: [] };
      this.#writers.set(spaceId, writers);
      this.#renewing ??= setInterval(() => this.#renew(), this.#times.renewEvery).unref();
    }
    writers.count++;
    return writers;
  }

  #leave(spaceId: string, writers: Writers, entries: readonly string[]): Promise<boolean> {
    writers.count--;
    writers.entries.push(...entries);
    writers.ending ??= this.#sendEnd(spaceId, writers);
    return writers.ending;
  }

  #sendBegin(spaceId: string, id: string): Promise<boolean> {
    return this.#isDone(
      this.#parts.redis.run(beginScript, keysOf(spaceId).slice(1), [id, this.#times.writerLifetime]),
    );
  }

  async #sendEnd(spaceId: string, writers: Writers): Promise<boolean> {
    await nextTurn();
    // later writes need a new command
    writers.ending = null;
    const entries = atMost(writers.entries);
    writers.entries = [];
    if (writers.count === 0) this.#writers.delete(spaceId);
    if (this.#writers.size === 0) {
      clearInterval(this.#renewing);
      this.#renewing = undefined;
    }
    return this.#isDone(
      this.#parts.redis.run(endScript, keysOf(spaceId), [writers.count === 0 ? writers.id : '', ...entries]),
    );
  }

  #renew(): void {
    for (const [spaceId, writers] of this.#writers) {
      writers.begun = this.#sendBegin(spaceId, writers.id);
      void this.#coverUnless(writers.begun).catch(() => {});
    }
  }

  async #isDone(command: Promise<unknown>): Promise<boolean> {
    const done = this.#unlessAway(command.then(() => true));
    return (await resultWithin(done, this.#times.writePatience)) === true;
  }

  #unlessAway<Answer>(command: Promise<Answer>): Promise<Answer | null> {
    return unlessAway(command, (error) =>
      this.#parts.log.error({ err: error }, 'the version of a space failed'),
    );
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The keys share a slot of a cluster. */
export function keysOf(spaceId: string): [version: string, writers: string, changes: string] {
  const version = `sluice:version:1:${spaceId}`;
  return [version, `sluice:writers:1:{${version}}`, `sluice:changes:1:{${version}}`];
}
