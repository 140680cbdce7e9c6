import type { RedisConfig } from '#kernel/config/read-redis.ts';

/** One address taken for a server, for a Sentinel of `main`, and for a node of a cluster. */
export function everyWay(address: { host: string; port: number }, tls: boolean): RedisConfig[] {
  const common = { tls, ca: undefined, username: undefined, password: undefined };
  const sentinel = { name: 'main', db: 0, sentinelUsername: undefined, sentinelPassword: undefined };
  return [
    { mode: 'standalone', db: 0, ...address, ...common },
    { mode: 'sentinel', sentinels: [address], ...sentinel, ...common },
    { mode: 'cluster', nodes: [address], ...common },
  ];
}
