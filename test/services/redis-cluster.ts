import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { RedisConfigOf } from '#kernel/config/read-redis.ts';
import type { CertificateFiles } from './certificate.ts';
import { freePorts } from './free-port.ts';
import { type RedisServer, startRedis } from './redis.ts';
import { redisArguments, redisTlsOptions } from './redis-tls.ts';

export interface RedisCluster {
  readonly config: RedisConfigOf<'cluster'>;
  /** The masters; behind them the replica of the first, where there is one. */
  readonly nodes: readonly RedisServer[];
  /** The node that serves a key. */
  nodeOf(key: string): Promise<RedisServer>;
  stop(): Promise<void>;
}

const joinTimeout = 30_000;

/**
 * A real cluster of three masters on loopback. @param tls the certificate of all of them, for `localhost`: so they speak
 * TLS to clients and to each other, and call themselves by that name
 * @param replica whether the first has one
 */
export async function startRedisCluster({
  tls,
  replica = false,
}: {
  tls?: CertificateFiles;
  replica?: boolean;
} = {}): Promise<RedisCluster> {
  const nodes: RedisServer[] = [];
  const tlsPorts: number[] = [];
  for (let i = 0; i < (replica ? 4 : 3); i++) {
    const bus = await freePorts(1);
    const args = ['--cluster-enabled', 'yes', '--cluster-port', `${bus}`, '--cluster-node-timeout', '2000'];
    // one node that is away takes its own slots with it, and not those of the others
    args.push('--cluster-require-full-coverage', 'no');
    if (tls !== undefined) {
      const port = await freePorts(1);
      tlsPorts.push(port);
      args.push(...redisArguments(redisTlsOptions(port, tls)), '--tls-cluster', 'yes');
      args.push('--cluster-announce-hostname', 'localhost', '--cluster-preferred-endpoint-type', 'hostname');
    }
    nodes.push(await startRedis({ args }));
  }
  const addresses = nodes.slice(0, 3).map(({ config }) => `${config.host}:${config.port}`);
  await promisify(execFile)('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-yes']);
  const deadline = Date.now() + joinTimeout;
  const until = async (done: () => Promise<boolean>): Promise<void> => {
    while (!(await done())) {
      if (Date.now() > deadline) throw new Error('the cluster did not come about');
      await sleep(50);
    }
  };
  const [first, , , last] = nodes as [RedisServer, RedisServer, RedisServer, RedisServer?];
  if (last !== undefined) {
    const { host, port } = first.config;
    await promisify(execFile)('redis-cli', [
      ...['--cluster', 'add-node', `${last.config.host}:${last.config.port}`, `${host}:${port}`],
      ...['--cluster-slave', '--cluster-master-id', String(await first.command('CLUSTER', 'MYID'))],
    ]);
    await until(async () => /master_link_status:up/.test(String(await last.command('INFO', 'replication'))));
  }
  for (const node of nodes) {
    await until(async () => /cluster_state:ok/.test(String(await node.command('CLUSTER', 'INFO'))));
  }
  return {
    nodes,
    config: {
      mode: 'cluster',
      tls: tls !== undefined,
      ca: undefined,
      username: undefined,
      password: undefined,
      // the others are found
      nodes: [
        tls === undefined
          ? { host: first.config.host, port: first.config.port }
          : { host: 'localhost', port: tlsPorts[0] as number },
      ],
    },
    async nodeOf(key) {
      const slot = Number(await first.command('CLUSTER', 'KEYSLOT', key));
      const ranges = (await first.command('CLUSTER', 'SLOTS')) as [number, number, [string, number]][];
      const port = ranges.find(([from, to]) => from <= slot && slot <= to)?.[2][1];
      return nodes.find(({ config }) => config.port === port) as RedisServer;
    },
    async stop() {
      for (const node of nodes) await node.stop();
    },
  };
}
