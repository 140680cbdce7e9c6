import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { RedisConfigOf } from '#kernel/config/read-redis.ts';
import type { CertificateFiles } from './certificate.ts';
import { freePorts } from './free-port.ts';
import { type RedisServer, startRedis } from './redis.ts';
import { redisArguments, redisTlsOptions } from './redis-tls.ts';
import { tiedCommand } from './tied-command.ts';
import { watchChild } from './watch-child.ts';

export interface RedisSentinel {
  readonly config: RedisConfigOf<'sentinel'>;
  /** The one that begins as the master, and the one that begins as its replica. */
  readonly servers: readonly [RedisServer, RedisServer];
  /** Resolves when the Sentinel knows a master other than the first one. */
  untilFailedOver(): Promise<void>;
  stop(): Promise<void>;
}

const name = 'main';

/**
 * A master with a replica, and a real Sentinel that watches them, on loopback. All ask for the password.
 * @param tls the certificate of all of them, for 127.0.0.1: so clients and they themselves speak TLS
 */
export async function startRedisSentinel(password: string, tls?: CertificateFiles): Promise<RedisSentinel> {
  const auth = ['--requirepass', password, '--masterauth', password];
  /** Options of a server, or of the Sentinel, with a port for TLS. */
  const secured = (port: number): [string, string][] =>
    tls === undefined ? [] : [...redisTlsOptions(port, tls), ['tls-replication', 'yes']];
  const start = async (...more: string[]): Promise<[RedisServer, number]> => {
    const tlsPort = await freePorts(1);
    const options = redisArguments(secured(tlsPort));
    const server = await startRedis({ args: [...auth, ...options, ...more], password });
    return [server, tls === undefined ? server.config.port : tlsPort];
  };
  const [master, port] = await start();
  const { host } = master.config;
  const [replica] = await start('--replicaof', host, `${port}`);
  const sentinelPort = await freePorts(1);
  const sentinelTlsPort = await freePorts(1);
  const folder = await mkdtemp(join(tmpdir(), 'sluice-sentinel-'));
  const file = join(folder, 'sentinel.conf');
  const lines = [
    ...secured(sentinelTlsPort).map((option) => option.join(' ')),
    ...[`port ${sentinelPort}`, 'bind 127.0.0.1', `dir ${folder}`, `requirepass sentinel-${password}`],
    ...[`sentinel monitor ${name} ${host} ${port} 1`, `sentinel auth-pass ${name} ${password}`],
    ...[`sentinel down-after-milliseconds ${name} 500`, `sentinel failover-timeout ${name} 3000`],
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const server = spawn(...tiedCommand(['redis-server', file, '--sentinel']), { stdio: 'ignore' });
  const { end, untilReady } = watchChild(server, 'the Sentinel');
  const asked = new Redis({ host, port: sentinelPort, password: `sentinel-${password}` }).on(
    'error',
    () => {},
  );
  await untilReady(async () => ((await asked.call('SENTINEL', 'REPLICAS', name)) as unknown[]).length === 1);
  await untilReady(async () =>
    /master_link_status:up/.test(String(await replica.command('INFO', 'replication'))),
  );
  return {
    servers: [master, replica],
    config: {
      mode: 'sentinel',
      sentinels: [{ host, port: tls === undefined ? sentinelPort : sentinelTlsPort }],
      name,
      sentinelUsername: undefined,
      sentinelPassword: `sentinel-${password}`,
      tls: tls !== undefined,
      ca: undefined,
      username: undefined,
      password,
      db: 0,
    },
    untilFailedOver: () =>
      untilReady(async () => {
        const [, now] = (await asked.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)) as [string, string];
        return Number(now) !== port;
      }),
    async stop() {
      asked.disconnect();
      await end('SIGKILL');
      await master.stop();
      await replica.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
