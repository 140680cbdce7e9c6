import { isIP } from 'node:net';
import { type Cluster, Redis, type RedisOptions, ReplyError } from 'ioredis';
import type { RedisConfig, RedisConfigOf } from '#kernel/config/read-redis.ts';
import { RefreshedCluster } from './redis-cluster.ts';
import { type ReportFailure, sentinelConnector, serverConnector } from './redis-connectors.ts';

export interface RedisTimes {
  /** Deadline for a connect. Milliseconds. */
  readonly connect: number;
  /** Deadline for an answer. Milliseconds. */
  readonly command: number;
  /** Longest pause between two attempts to connect. */
  readonly backoff: number;
}

const firstBackoff = 50;
/** The greatest age of a cluster's map of slots. Milliseconds. */
const slotsFor = 1000;
/** Redirects: the first node did not execute the command. */
const redirections = 5;

/** The library's client for each way to run Redis. It is only used inside common/coordination/redis. */
export type RedisClient = Redis | Cluster;

/**
 * A client that is not connected yet. It reconnects by itself, and never resends a command that may have run. Emits
 * `node error` (error, `host:port`) when a node of a cluster or a Sentinel is unusable.
 */
export function createRedisClient(config: RedisConfig, times: RedisTimes): RedisClient {
  const client: RedisClient = newClient(
    config,
    times,
    (error, address) => void client.emit('node error', error, address),
  );
  return client;
}

function newClient(config: RedisConfig, times: RedisTimes, report: ReportFailure): RedisClient {
  const common = commonOptions(config, times);
  if (config.mode === 'cluster') return clusterClient(config, common, times, report);
  if (config.mode === 'sentinel') return sentinelClient(config, common, times, report);
  const { host, port, ca, db } = config;
  // RFC 6066 section 3: a server name can't be an address
  const tls = { ...(isIP(host) === 0 ? { servername: host } : {}), ...(ca === undefined ? {} : { ca }) };
  // the client itself emits the reason of a failed connect as an 'error'
  const secure = { tls, Connector: serverConnector(() => {}) };
  return new Redis({ ...common, db, host, port, ...(config.tls ? secure : {}) });
}

type CommonOptions = ReturnType<typeof commonOptions>;

function commonOptions({ username, password }: RedisConfig, times: RedisTimes) {
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    // RESP2: every server and proxy speaks it, and scripts answer the same in both protocols
    protocol: 2,
    disableClientInfo: true,
    lazyConnect: true,
    connectTimeout: times.connect,
    commandTimeout: times.command,
    autoResendUnfulfilledCommands: false,
    // listeners subscribe again, and know that they missed something
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    // a former master: the name may resolve to another server by now
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    enableAutoPipelining: true,
    // a failure rejects at once
    enableOfflineQueue: false,
    retryStrategy: retryWithin(times.backoff),
  } satisfies RedisOptions;
}

function sentinelClient(
  config: RedisConfigOf<'sentinel'>,
  common: CommonOptions,
  times: RedisTimes,
  report: ReportFailure,
): Redis {
  const { sentinels, name, sentinelUsername, sentinelPassword, ca, db } = config;
  const tls = ca === undefined ? {} : { ca };
  return new Redis({
    ...common,
    db,
    sentinels: sentinels.map((sentinel) => ({ ...sentinel })),
    name,
    ...(sentinelUsername === undefined ? {} : { sentinelUsername }),
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
    ...(config.tls ? { tls, sentinelTLS: tls, enableTLSForSentinelMode: true } : {}),
    Connector: sentinelConnector(report),
    sentinelCommandTimeout: times.command,
    sentinelRetryStrategy: retryWithin(times.backoff),
    // not failoverDetector: in ioredis 6.0.0 one client in nine had no connection after a failover.
    // Sentinels close the connections to a former master, and it refuses writes
  });
}

function clusterClient(
  { nodes, tls, ca }: RedisConfigOf<'cluster'>,
  { enableAutoPipelining, enableOfflineQueue, retryStrategy, ...common }: CommonOptions,
  times: RedisTimes,
  report: ReportFailure,
): Cluster {
  return new RefreshedCluster(
    nodes.map((node) => ({ ...node })),
    {
      redisOptions: {
        ...common,
        ...(tls ? { tls: ca === undefined ? {} : { ca } } : {}),
        Connector: serverConnector(report),
        // without it a running command would wait forever for a node that does not respond
        socketTimeout: times.command,
      } satisfies RedisOptions,
      lazyConnect: true,
      enableAutoPipelining,
      enableOfflineQueue,
      clusterRetryStrategy: retryStrategy,
      clusterNodeRetryStrategy: retryStrategy,
      maxRedirections: redirections,
      // these commands may have run
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      slotsRefreshTimeout: times.connect,
      // certificates name hosts, not their IP addresses
      ...(tls ? { dnsLookup: (address, callback) => callback(null, address) } : {}),
    },
    slotsFor,
  );
}

function retryWithin(longest: number): (attempt: number) => number {
  return (attempt) => {
    const pause = Math.min(firstBackoff * 2 ** Math.min(attempt - 1, 20), longest);
    return pause / 2 + (Math.random() * pause) / 2;
  };
}

/** Whether Redis itself answered with an error: then the command did nothing. */
export function isReplyError(error: unknown): boolean {
  return error instanceof ReplyError;
}
