import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisConfig } from '../config/read-redis.ts';
import type { Log } from '../log/log.ts';
import { type ObserveCall, unobserved } from '../telemetry/observe-call.ts';
import { createRedisClient, isReplyError, type RedisTimes } from './redis-client.ts';
import {
  type RedisConnection,
  RedisFailure,
  type RedisListener,
  type RedisScript,
} from './redis-connection.ts';
import { createRedisListener } from './redis-listener.ts';
import { RedisOutage } from './redis-outage.ts';
import { withDeadline } from './with-deadline.ts';

const usualTimes: RedisTimes = { connect: 5000, command: 2000, backoff: 2000 };
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
  observe: ObserveCall = unobserved,
): Promise<RedisConnection> {
  const outage = new RedisOutage(log);
  const client = createRedisClient(config, times);
  const onReady: (() => void)[] = [];
  const channels = new Set<RedisListener>();
  let waiting = 0;
  let leaving = false;

  client.on('ready', () => {
    outage.end();
    for (const listener of onReady) listener();
  });
  client.on('error', (error: Error & { command?: { name?: string } }) => {
    outage.begin(reasonOf(error, config));
    // it would go on in the wrong database
    if (error.command?.name === 'select') client.disconnect(true);
  });
  // what other nodes of a cluster hold goes on, and other Sentinels know as much
  client.on('node error', (error: Error, server: string) => {
    outage.serverFailed(server, reasonOf(error, config));
  });
  client.on('close', () => {
    leaving = false;
    outage.begin('the connection was closed');
  });
  const failedOrReady = new Promise<void>((resolve) => {
    for (const event of ['ready', 'error', 'close']) client.once(event, resolve);
  });
  // with Sentinels, and on a cluster, it does not settle before there is a connection
  const connected = client.connect().catch((error: unknown) => outage.begin(reasonOf(error, config)));
  await Promise.race([connected, failedOrReady, sleep(times.connect, undefined, { ref: false })]);

  const send = <Answer>(call: string, command: () => Promise<Answer>): Promise<Answer> =>
    observe('redis', call, () => sendNow(command));
  const sendNow = async <Answer>(command: () => Promise<Answer>): Promise<Answer> => {
    if (client.status !== 'ready') throw new RedisFailure('Redis is away', false);
    if (waiting >= commandLimit) throw new RedisFailure('too many commands wait for Redis', false);
    waiting++;
    try {
      return await withDeadline(command(), times.command * 3);
    } catch (error) {
      const reason = reasonOf(error, config);
      if (isReplyError(error)) {
        outage.refused(reason.split(' ', 1)[0] ?? '', reason);
        throw new RedisFailure(reason, false);
      }
      // what is still under way on this connection would be waited for by nobody, and without a bound
      if (reason === 'Command timed out' && config.mode !== 'cluster' && !leaving) {
        outage.begin('it does not answer in time');
        leaving = true;
        client.disconnect(true);
      }
      throw new RedisFailure(reason, true);
    } finally {
      waiting--;
    }
  };
  const evaluate = async (script: RedisScript, tail: readonly (string | number)[]): Promise<unknown> => {
    try {
      return await client.evalsha(script.sha1, ...(tail as [number, ...string[]]));
    } catch (error) {
      // Redis does not know it (any more); then it did not run either
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return await client.eval(script.source, ...(tail as [number, ...string[]]));
    }
  };

  return {
    run: (script, keys, args) => send('script', () => evaluate(script, [keys.length, ...keys, ...args])),
    get: (key) => send('get', () => client.get(key)),
    async set(key, value, lifetime) {
      await send('set', () => client.set(key, value, 'PX', lifetime));
    },
    async remove(key) {
      await send('remove', () => client.del(key));
    },
    listen(channel, onMessage) {
      const listener = createRedisListener(createRedisClient(config, times), channel, onMessage);
      channels.add(listener);
      return listener;
    },
    onConnected(listener) {
      onReady.push(listener);
      if (client.status === 'ready') listener();
    },
    async close() {
      for (const listener of channels) listener.close();
      client.removeAllListeners('close');
      // rejects when there is no connection that could be ended in good order
      if (client.status === 'ready') await withDeadline(client.quit(), times.command).catch(() => {});
      client.disconnect();
    },
  };
}

/** The error's text without a password: Redis repeats the arguments of commands that it does not know. */
function reasonOf(error: unknown, config: RedisConfig): string {
  const text = error instanceof Error && error.message !== '' ? error.message : 'unknown failure';
  let [reason = ''] = text.split(/,? with args/i, 1);
  const secrets = [config.password, config.mode === 'sentinel' ? config.sentinelPassword : undefined];
  for (const secret of secrets) if (secret !== undefined) reason = reason.replaceAll(secret, '***');
  return reason;
}
