import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { ClusterRedis } from '../../common/config/read-redis.ts';
import { freePorts } from './free-port.ts';
import { type RedisServer, startRedis } from './redis.ts';

export interface RedisCluster {
  readonly config: ClusterRedis;
  readonly nodes: readonly RedisServer[];
  /** The node that serves a key. */
  nodeOf(key: string): Promise<RedisServer>;
  stop(): Promise<void>;
}

const joinTimeout = 30_000;

/** A real cluster of three masters on loopback. */
export async function startRedisCluster(): Promise<RedisCluster> {
  const nodes: RedisServer[] = [];
  for (let i = 0; i < 3; i++) {
    const bus = await freePorts(1);
    const args = ['--cluster-enabled', 'yes', '--cluster-port', `${bus}`, '--cluster-node-timeout', '2000'];
    // one node that is away takes its own slots with it, and not those of the others
    nodes.push(await startRedis({ args: [...args, '--cluster-require-full-coverage', 'no'] }));
  }
  const addresses = nodes.map(({ config }) => `${config.host}:${config.port}`);
  await promisify(execFile)('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-yes']);
  const deadline = Date.now() + joinTimeout;
  for (const node of nodes) {
    while (!/cluster_state:ok/.test(String(await node.command('CLUSTER', 'INFO')))) {
      if (Date.now() > deadline) throw new Error('the cluster did not come about');
      await sleep(50);
    }
  }
  return {
    nodes,
    config: {
      mode: 'cluster',
      ...{ tls: false, ca: undefined, username: undefined, password: undefined },
      // the others are found
      nodes: nodes.slice(0, 1).map(({ config: { host, port } }) => ({ host, port })),
    },
    async nodeOf(key) {
      const [first] = nodes as [RedisServer];
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
