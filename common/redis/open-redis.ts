import { isIP } from 'node:net';
import { Redis, ReplyError } from 'ioredis';
import type { RedisConfig } from '../config/read-redis.ts';
import type { Log } from '../log/log.ts';
import { type RedisConnection, RedisFailure } from './redis-connection.ts';
import { RedisOutage } from './redis-outage.ts';

export interface RedisTimes {
  /** Milliseconds for a connection to come about. */
  readonly connect: number;
  /** Milliseconds for an answer. */
  readonly command: number;
  /** Longest pause between two attempts to connect. */
  readonly backoff: number;
}

const usualTimes: RedisTimes = { connect: 5000, command: 2000, backoff: 2000 };
const firstBackoff = 50;
/** Commands that wait for their answer. */
const commandLimit = 10_000;

/**
 * A connection to Redis that comes back by itself. Resolves when it is there or has failed for the first time: without
 * Redis a process starts, and serves what does not need it.
 */
export async function openRedis(
  config: RedisConfig,
  log: Log,
  times: RedisTimes = usualTimes,
): Promise<RedisConnection> {
  const outage = new RedisOutage(log);
  const redis = new Redis({
    host: config.host,
    port: config.port,
    db: config.db,
    // RFC 6066 section 3: a server name can't be an address
    ...(config.tls ? { tls: isIP(config.host) === 0 ? { servername: config.host } : {} } : {}),
    ...(config.username === undefined ? {} : { username: config.username }),
    ...(config.password === undefined ? {} : { password: config.password }),
    // the older protocol: every server and proxy speaks it, and scripts answer the same in both
    protocol: 2,
    disableClientInfo: true,
    lazyConnect: true,
    enableAutoPipelining: true,
    connectTimeout: times.connect,
    commandTimeout: times.command,
    // whoever asked hears of a failure at once, and nothing is sent again behind their back
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => {
      const pause = Math.min(firstBackoff * 2 ** Math.min(attempt - 1, 20), times.backoff);
      return pause / 2 + (Math.random() * pause) / 2;
    },
    // a replica that was a master: the name may lead to another server by now
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
  const listeners: (() => void)[] = [];
  let waiting = 0;

  redis.on('ready', () => {
    outage.end();
    for (const listener of listeners) listener();
  });
  redis.on('error', (error: Error & { command?: { name?: string } }) => {
    outage.begin(reasonOf(error, config));
    // it would go on in the wrong database
    if (error.command?.name === 'select') redis.disconnect(true);
  });
  redis.on('close', () => outage.begin('the connection was closed'));
  await redis.connect().catch(() => {});

  const send = async (script: Parameters<RedisConnection['run']>[0], tail: readonly (string | number)[]) => {
    try {
      return await redis.evalsha(script.sha1, ...(tail as [number, ...string[]]));
    } catch (error) {
      // Redis does not know it (any more); then it did not run either
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return await redis.eval(script.source, ...(tail as [number, ...string[]]));
    }
  };

  return {
    async run(script, keys, args) {
      if (redis.status !== 'ready') throw new RedisFailure('Redis is away', false);
      if (waiting >= commandLimit) throw new RedisFailure('too many commands wait for Redis', false);
      waiting++;
      try {
        return await send(script, [keys.length, ...keys, ...args]);
      } catch (error) {
        const reason = reasonOf(error, config);
        if (error instanceof ReplyError) {
          outage.refused(reason.split(' ', 1)[0] ?? '', reason);
          throw new RedisFailure(reason, false);
        }
        // what is still under way on this connection would be waited for by nobody, and without a bound
        if (reason === 'Command timed out') {
          outage.begin('it does not answer in time');
          redis.disconnect(true);
        }
        throw new RedisFailure(reason, true);
      } finally {
        waiting--;
      }
    },
    onConnected(listener) {
      listeners.push(listener);
      if (redis.status === 'ready') listener();
    },
    async close() {
      redis.removeAllListeners('close');
      // rejects when there is no connection that could be ended in good order
      if (redis.status === 'ready') await redis.quit().catch(() => {});
      redis.disconnect();
    },
  };
}

/** What happened, without a password: Redis repeats the arguments of commands that it does not know. */
function reasonOf(error: unknown, { password }: RedisConfig): string {
  const text = error instanceof Error && error.message !== '' ? error.message : 'unknown failure';
  const [start = ''] = text.split(/,? with args/i, 1);
  return password === undefined ? start : start.replaceAll(password, '***');
}
