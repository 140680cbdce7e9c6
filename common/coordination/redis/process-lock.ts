import { randomUUID } from 'node:crypto';
import type { Log } from '#kernel/log/log.ts';
import { type RedisConnection, RedisFailure, redisScript } from './redis-connection.ts';

/** A lock for work that only one process of a deployment may do at a time. */
export interface ProcessLock {
  /**
   * Does the work while no other process does it. Throws a LockRefused if it can't start.
   * @param work its signal is aborted when another process may start
   */
  hold<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
}

/** Another process holds the lock, or its holder is unknown. */
export class LockRefused extends Error {
  readonly reason: 'held' | 'unknown';

  constructor(reason: 'held' | 'unknown', cause?: unknown) {
    const message =
      reason === 'held' ? 'another process does it at the moment' : 'Redis, which knows who does it, is away';
    super(message, { cause });
    this.name = 'LockRefused';
    this.reason = reason;
  }
}

/** Milliseconds. */
export interface LockTimes {
  /** How long the lock lasts without a renewal. */
  readonly lease: number;
  readonly renewEvery: number;
}

const usualTimes: LockTimes = { lease: 60_000, renewEvery: 15_000 };
/** Share of the lease that is sacrificed because clocks differ. */
const marginShare = 0.1;

const takeScript = redisScript(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
return 0
`);
const renewScript = redisScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`);
const releaseScript = redisScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`);

/** The lock of a name. */
export type Locks = (name: string, times?: LockTimes) => ProcessLock;

/** Locks of a single process. */
export function ownLocks(): Locks {
  const held = new Set<string>();
  return (name) => ({
    async hold(work) {
      if (held.has(name)) throw new LockRefused('held');
      held.add(name);
      try {
        return await work(neverLost);
      } finally {
        held.delete(name);
      }
    },
  });
}

const neverLost = new AbortController().signal;

/** Locks in Redis. If a holder dies, others have to wait for the rest of its lease. */
export function redisLocks({ redis, log }: { redis: RedisConnection; log: Log }): Locks {
  return (name, times = usualTimes) => ({
    async hold(work) {
      const key = `sluice:lock:1:${name}`;
      const owner = randomUUID();
      let sent = performance.now();
      const release = (): void => {
        // if the release is lost, the lock expires
        redis.run(releaseScript, [key], [owner]).catch(() => {});
      };
      try {
        if ((await redis.run(takeScript, [key], [owner, times.lease])) !== 1) throw new LockRefused('held');
      } catch (error) {
        if (!(error instanceof RedisFailure)) throw error;
        if (error.mayHaveRun) release();
        throw new LockRefused('unknown', error);
      }
      const lost = new AbortController();
      const lose = (): void => lost.abort(new Error(`the lock ${name} was lost: another process may go on`));
      let over = false;
      let end: NodeJS.Timeout | undefined;
      /** Counts the lease from when the command was sent: Redis can't have started it earlier. */
      const lasts = (): void => {
        clearTimeout(end);
        end = setTimeout(lose, times.lease * (1 - marginShare) - (performance.now() - sent)).unref();
      };
      const renew = async (): Promise<void> => {
        const now = performance.now();
        try {
          if ((await redis.run(renewScript, [key], [owner, times.lease])) !== 1) return lose();
          sent = now;
          if (!over) lasts();
        } catch (error) {
          if (!(error instanceof RedisFailure)) log.error({ err: error }, 'a lock was not renewed');
        }
      };
      const timer = setInterval(() => void renew(), times.renewEvery).unref();
      lasts();
      try {
        return await work(lost.signal);
      } finally {
        over = true;
        clearInterval(timer);
        clearTimeout(end);
        release();
      }
    },
  });
}
