import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { RedisConfig } from '../../common/config/read-redis.ts';
import { openRedis } from '../../common/redis/open-redis.ts';
import type { RedisConnection } from '../../common/redis/redis-connection.ts';
import { createRedisVersions, keyOf } from '../../query/records/redis-versions.ts';
import type { SpaceVersions } from '../../query/records/space-versions.ts';
import { openQueryHarness, spaceOf } from '../services/query-harness.ts';
import { structureOf } from '../services/record-client.ts';
import { startRedis } from '../services/redis.ts';
import { silentLog } from '../services/silent-log.ts';
import { startTcpProxy } from '../services/tcp-proxy.ts';

const quick = { connect: 1000, command: 300, backoff: 50 };
const lifetime = 800;
const server = await startRedis();
const proxy = await startTcpProxy({ target: server.config });
const opened: { redis: RedisConnection; versions: SpaceVersions }[] = [];
async function openVersions(config: RedisConfig): Promise<(typeof opened)[0]> {
  const log = silentLog();
  const redis = await openRedis(config, log, quick);
  const one = { redis, versions: createRedisVersions({ redis, log, lifetime }) };
  opened.push(one);
  return one;
}
const straight = await openVersions(server.config);
// the second process reaches Redis over a line that can be cut
const behind = await openVersions({ ...server.config, port: proxy.port });
const both = [straight, behind] as const;
let routers = 0;
const harness = await openQueryHarness({
  alone: false,
  versions: () => (both[routers++ % 2] as typeof straight).versions,
});
const another = harness.another();
t.teardown(async () => {
  await harness.close();
  for (const { redis } of opened) await redis.close();
  // connections that were frozen end with their server
  await server.stop();
  await proxy.close();
});

t.test('a version is random, the same for all, another one after a change, and ends by itself', async (t) => {
  const id = randomUUID();
  const [a, b] = [straight.versions, behind.versions];
  const seen = new Set<string | null>();
  for (let i = 0; i < 50; i++) {
    const version = await a.read(id);
    t.not(version, null);
    t.notOk(seen.has(version));
    seen.add(version);
    await (i % 2 === 0 ? a : b).change(id);
  }
  const version = await a.read(id);
  t.equal(await b.read(id), version);
  const left = Number(await server.command('PTTL', keyOf(id)));
  t.ok(left > 0 && left <= lifetime);
  while ((await a.read(id)) === version) await sleep(20);
  t.not(await a.read(id), version, 'reading did not prolong it');
});

t.test('writes of one moment share one command', async (t) => {
  const id = randomUUID();
  const calls = async (): Promise<number> =>
    Number(/cmdstat_del:calls=(\d+)/.exec(String(await server.command('INFO', 'commandstats')))?.[1] ?? 0);
  const before = await calls();
  await Promise.all(Array.from({ length: 300 }, () => straight.versions.change(id)));
  t.equal((await calls()) - before, 1);
});

t.test(
  'a replica that knows an older version, after a failover, is no reason to go back to it',
  async (t) => {
    const id = randomUUID();
    const version = await straight.versions.read(id);
    const [, text = ''] = String(version).split(':');
    await server.kill();
    await server.start();
    let again: string | null = null;
    while (again === null) {
      // what a replica would have
      await server.command('SET', keyOf(id), text);
      again = await straight.versions.read(id);
    }
    t.equal(again.split(':')[1], text);
    t.not(again, version);
  },
);

/**
 * A cache of results stands on the versions while records are written through both processes and Redis fails: what
 * asks after a write was acknowledged gets it, from the cache as well.
 */
async function exactWhile(
  t: Test,
  slug: string,
  outage: { begin: () => unknown; end: () => unknown; wait: number },
): Promise<void> {
  const structure = structureOf('p', slug, [{ name: 'n', type: 'NUMBER' }]);
  const spaces = [spaceOf(harness, 'p', slug, structure), spaceOf(another, 'p', slug, structure)] as const;
  await spaces[0].insertOne({ n: -1 });
  const rows = await harness.db.rows<{ id: string }>({
    sql: `SELECT toString(id) AS id FROM sluice.record_spaces WHERE slug = '${slug}' LIMIT 1`,
  });
  const id = rows[0]?.id as string;
  const cache = new Map<string, number>();
  const counts = { writes: 1, hits: 0, misses: 0, without: 0, stale: 0, failed: 0 };
  let stop = false;

  const writers = [0, 1, 0, 1].map(async (which, worker) => {
    for (let n = 0; !stop; n++) {
      const { status } = await (spaces[which] as (typeof spaces)[0]).insertOne({ n: worker * 1e6 + n });
      if (status === 200) counts.writes++;
      else counts.failed++;
      await sleep(20);
    }
  });
  const readers = [0, 1, 0, 1].map(async (which) => {
    while (!stop) {
      const acknowledged = counts.writes;
      const version = await (both[which] as typeof straight).versions.read(id);
      let found = version === null ? undefined : cache.get(version);
      if (found !== undefined) counts.hits++;
      else {
        const answer = await (spaces[which] as (typeof spaces)[0]).find();
        if (answer.status !== 200) counts.failed++;
        found = answer.body.length as number;
        if (version === null) counts.without++;
        else {
          counts.misses++;
          cache.set(version, found);
        }
      }
      if (found < acknowledged) counts.stale++;
      await sleep(2);
    }
  });
  await sleep(400);
  await outage.begin();
  await sleep(outage.wait);
  await outage.end();
  await sleep(800);
  stop = true;
  await Promise.all([...writers, ...readers]);
  t.equal(counts.stale, 0);
  t.equal(counts.failed, 0);
  t.ok(counts.hits > 0 && counts.misses > 0);
  t.comment(`${slug}: ${JSON.stringify(counts)}`);
}

t.test('results are exact whatever Redis does', async (t) => {
  const freeze = (frozen: boolean) => (): void => {
    for (const direction of ['toClient', 'toTarget'] as const) proxy.set(direction, { frozen });
  };
  const memory = (policy: string) => ({
    begin: async () => {
      await server.command('CONFIG', 'SET', 'maxmemory-policy', policy);
      await server.command('CONFIG', 'SET', 'maxmemory', 1);
    },
    end: () => server.command('CONFIG', 'SET', 'maxmemory', 0),
    wait: 600,
  });
  await exactWhile(t, 'well', { begin: () => {}, end: () => {}, wait: 200 });
  await exactWhile(t, 'killed', { begin: server.kill, end: server.start, wait: 1500 });
  await exactWhile(t, 'stopped', { begin: server.pause, end: server.resume, wait: 1500 });
  // the worst: one that writes is cut off, and another one goes on with its cache
  await exactWhile(t, 'one-cut-off', { begin: freeze(true), end: freeze(false), wait: 2500 });
  await exactWhile(t, 'slow', {
    begin: () => proxy.set('toClient', { delayMs: 150 }),
    end: () => proxy.set('toClient', { delayMs: 0 }),
    wait: 1000,
  });
  await exactWhile(t, 'restarted', {
    begin: async () => {
      await server.kill();
      await server.start();
    },
    end: () => {},
    wait: 300,
  });
  await exactWhile(t, 'flushed', { begin: () => server.command('FLUSHALL'), end: () => {}, wait: 300 });
  await exactWhile(t, 'full-noeviction', memory('noeviction'));
  await exactWhile(t, 'full-allkeys-lru', memory('allkeys-lru'));
});
