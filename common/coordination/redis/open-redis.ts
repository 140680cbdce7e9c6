import type { RedisConfig } from '#kernel/config/read-redis.ts';
import { settledWithin } from '#kernel/limits/deadline.ts';
import type { Log } from '#kernel/log/log.ts';
import { type ObserveCall, unobserved } from '#kernel/telemetry/observe-call.ts';
import { createRedisClient, isReplyError, type RedisClient, type RedisTimes } from './redis-client.ts';
import {
  type RedisConnection,
  RedisFailure,
  type RedisListener,
  type RedisScript,
} from './redis-connection.ts';
import { RedisOutage } from './redis-outage.ts';

const usualTimes: RedisTimes = { connect: 5000, command: 2000, backoff: 2000 };
/** Most commands that may wait for their answer. */
const commandLimit = 10_000;

/**
 * A connection to Redis that reconnects by itself. Resolves after the first success or failure: even without Redis a
 * process starts, and serves the requests that do not need it.
 */
export async function openRedis(
  config: RedisConfig,
  log: Log,
  times: RedisTimes = usualTimes,
  observe: ObserveCall = unobserved,
): Promise<RedisConnection> {
  const connection = new ReconnectingRedis(config, log, times, observe);
  await connection.connect();
  return connection;
}

class ReconnectingRedis implements RedisConnection {
  readonly #config: RedisConfig;
  readonly #times: RedisTimes;
  readonly #observe: ObserveCall;
  readonly #outage: RedisOutage;
  readonly #client: RedisClient;
  readonly #onReady: (() => void)[] = [];
  readonly #channels = new Set<RedisListener>();
  /** Commands that wait for their answers. */
  #waiting = 0;
  /** The connection is being closed because it does not respond. */
  #leaving = false;

  constructor(config: RedisConfig, log: Log, times: RedisTimes, observe: ObserveCall) {
    this.#config = config;
    this.#times = times;
    this.#observe = observe;
    this.#outage = new RedisOutage(log);
    this.#client = createRedisClient(config, times);
  }

  /** Resolves after the first success or failure, or at the deadline. */
  async connect(): Promise<void> {
    const [client, outage, config] = [this.#client, this.#outage, this.#config];
    client.on('ready', () => {
      outage.end();
      for (const listener of this.#onReady) listener();
    });
    client.on('error', (error: Error & { command?: { name?: string } }) => {
      outage.begin(reasonOf(error, config));
      // the client would continue in the wrong database
      if (error.command?.name === 'select') client.disconnect(true);
    });
    // other nodes of a cluster still serve their keys, and one Sentinel is enough
    client.on('node error', (error: Error, server: string) => {
      outage.serverFailed(server, reasonOf(error, config));
    });
    client.on('close', () => {
      this.#leaving = false;
      outage.begin('the connection was closed');
    });
    const failedOrReady = new Promise<void>((resolve) => {
      for (const event of ['ready', 'error', 'close']) client.once(event, resolve);
    });
    // with Sentinels, and on a cluster, it does not settle before there is a connection
    const connected = client.connect().catch((error: unknown) => outage.begin(reasonOf(error, config)));
    await settledWithin(Promise.race([connected, failedOrReady]), this.#times.connect);
  }

  run(script: RedisScript, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return this.#send('script', () => this.#evaluate(script, [keys.length, ...keys, ...args]));
  }

  get(key: string): Promise<string | null> {
    return this.#send('get', () => this.#client.get(key));
  }

  async set(key: string, value: string, lifetime: number): Promise<void> {
    await this.#send('set', () => this.#client.set(key, value, 'PX', lifetime));
  }

  async remove(key: string): Promise<void> {
    await this.#send('remove', () => this.#client.del(key));
  }

  listen(channel: string, onMessage: (message: string) => void): RedisListener {
    const listener = createRedisListener(createRedisClient(this.#config, this.#times), channel, onMessage);
    this.#channels.add(listener);
    return listener;
  }

  onConnected(listener: () => void): void {
    this.#onReady.push(listener);
    if (this.#client.status === 'ready') listener();
  }

  async close(): Promise<void> {
    for (const listener of this.#channels) listener.close();
    const client = this.#client;
    client.removeAllListeners('close');
    // rejects if there is no connection to close gracefully
    if (client.status === 'ready') await settledWithin(client.quit(), this.#times.command);
    client.disconnect();
  }

  #send<Answer>(call: string, command: () => Promise<Answer>): Promise<Answer> {
    return this.#observe('redis', call, () => this.#sendNow(command));
  }

  async #sendNow<Answer>(command: () => Promise<Answer>): Promise<Answer> {
    if (this.#client.status !== 'ready') throw new RedisFailure('Redis is away', false);
    if (this.#waiting >= commandLimit) throw new RedisFailure('too many commands wait for Redis', false);
    this.#waiting++;
    try {
      const answer = command();
      // the client's own deadline begins when a command is sent; this one is for commands that are never sent
      if (!(await settledWithin(answer, this.#times.command * 3))) throw new Error('Command timed out');
      return await answer;
    } catch (error) {
      throw this.#failure(error);
    } finally {
      this.#waiting--;
    }
  }

  #failure(error: unknown): RedisFailure {
    const reason = reasonOf(error, this.#config);
    if (isReplyError(error)) {
      this.#outage.refused(reason.split(' ', 1)[0] ?? '', reason);
      return new RedisFailure(reason, false);
    }
    // nothing would bound running calls on this connection
    if (reason === 'Command timed out' && this.#config.mode !== 'cluster' && !this.#leaving) {
      this.#outage.begin('it does not answer in time');
      this.#leaving = true;
      this.#client.disconnect(true);
    }
    return new RedisFailure(reason, true);
  }

  async #evaluate(script: RedisScript, tail: readonly (string | number)[]): Promise<unknown> {
    try {
      return await this.#client.evalsha(script.sha1, ...(tail as [number, ...string[]]));
    } catch (error) {
      // Redis does not have the script (any more), so it did not run
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return await this.#client.eval(script.source, ...(tail as [number, ...string[]]));
    }
  }
}

/** The error's text without a password: Redis quotes the arguments of unknown commands. */
function reasonOf(error: unknown, config: RedisConfig): string {
  const text = error instanceof Error && error.message !== '' ? error.message : 'unknown failure';
  let [reason = ''] = text.split(/,? with args/i, 1);
  const secrets = [config.password, config.mode === 'sentinel' ? config.sentinelPassword : undefined];
  for (const secret of secrets) if (secret !== undefined) reason = reason.replaceAll(secret, '***');
  return reason;
}

/** Least time between two requested reconnects. Milliseconds. */
const pause = 1000;

/** Listens to a channel over a dedicated client, and subscribes again on every connect. */
function createRedisListener(
  client: RedisClient,
  channel: string,
  onMessage: (message: string) => void,
): RedisListener {
  let reconnectedAt = performance.now();
  const reconnect = (): void => {
    if (client.status !== 'ready' || performance.now() - reconnectedAt < pause) return;
    reconnectedAt = performance.now();
    client.disconnect(true);
  };
  client.on('ready', () => {
    client.subscribe(channel).catch(reconnect);
  });
  // the commands' own connection fails too then, and logs it
  client.on('error', () => {});
  client.on('message', (from: string, message: string) => {
    if (from === channel) onMessage(message);
  });
  client.connect().catch(() => {});
  return { reconnect, close: () => client.disconnect() };
}
