/** Redis Cluster, Sentinel, TLS with a CA of its own, and users with few rights: the same connection over each. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { openRedis } from '#coordination/redis/open-redis.ts';
import { redisLocks } from '#coordination/redis/process-lock.ts';
import type { RedisConnection } from '#coordination/redis/redis-connection.ts';
import { redisScript } from '#coordination/redis/redis-connection.ts';
import { RedisInvalidation } from '#coordination/redis/redis-invalidation.ts';
import type { RedisConfig } from '#kernel/config/read-redis.ts';
import { CacheOutages } from '#records/store-shared/cache-outages.ts';
import { RedisChanges } from '#records/store-shared/redis-changes.ts';
import { RedisVersions } from '#records/store-shared/redis-versions.ts';
import { RedisReservations } from '#records/unique/redis-reservations.ts';
import { certificateFor } from '../services/certificate.ts';
import { freePorts } from '../services/free-port.ts';
import { readAtOnce } from '../services/live-stores.ts';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { type RedisServer, startRedis } from '../services/redis.ts';
import { startRedisCluster } from '../services/redis-cluster.ts';
import { clusterRights, redisRights } from '../services/redis-rights.ts';
import { startRedisSentinel } from '../services/redis-sentinel.ts';
import { redisArguments, redisTlsOptions } from '../services/redis-tls.ts';
import { everyWay } from '../services/redis-ways.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { silentLog } from '../services/silent-log.ts';
import { sluiceFor } from '../services/start-sluice.ts';
import { startTcpProxy } from '../services/tcp-proxy.ts';
import { taken } from '../services/unique-reservations-suite.ts';

const quick = { connect: 1000, command: 500, backoff: 100 };
const { signal } = new AbortController();
const publish = redisScript(`return redis.call('PUBLISH', 'sluice:news', ARGV[1])`);

async function open(config: RedisConfig): Promise<RedisConnection & { failures: string[] }> {
  const log = silentLog();
  const redis = await openRedis(config, log, quick);
  return Object.assign(redis, { failures: log.failures });
}

/** What does not come about within a minute never does. */
const never = 60_000;

async function eventually<Result>(work: () => Promise<Result>): Promise<Result> {
  const deadline = Date.now() + never;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(20);
    }
  }
}

/** Everything that the connection can do. */
async function useAll(redis: RedisConnection, prefix: string): Promise<void> {
  const keys = Array.from({ length: 60 }, (_, i) => `${prefix}${i}`);
  await Promise.all(keys.map((key) => redis.set(key, `value of ${key}`, 60_000)));
  t.strictSame(
    await Promise.all(keys.map((key) => redis.get(key))),
    keys.map((key) => `value of ${key}`),
  );
  await Promise.all(keys.map((key) => redis.remove(key)));
  t.strictSame(
    await Promise.all(keys.map((key) => redis.get(key))),
    keys.map(() => null),
  );
  const heard: string[] = [];
  const listener = redis.listen('sluice:news', (message) => heard.push(message));
  // by whichever node: all pass it on
  for (let i = 0; heard.length === 0 || heard.length < 5; i++) {
    await redis.run(publish, [keys[i % keys.length] as string], [`message ${i}`]);
    await sleep(20);
  }
  t.match(heard[0], /^message/);
  listener.close();
}

/** What one publishes the other hears in order, whichever nodes are between them. */
async function pushBetween(t: Test, redis: RedisConnection, other: RedisConnection): Promise<void> {
  const logs = [silentLog(), silentLog()] as const;
  const a = new RedisInvalidation({ redis, log: logs[0] });
  const b = new RedisInvalidation({ redis: other, log: logs[1] });
  const current = async (): Promise<void> => {
    while (!a.isCurrent() || !b.isCurrent()) await sleep(10);
  };
  await current();
  // until both listen
  for (let heard = false; !heard; ) {
    const positions = [a.position(), b.position()] as const;
    await a.publish('first');
    await sleep(50);
    heard = [a, b].every((invalidation, i) =>
      invalidation.changedSince('first', positions[i] as (typeof positions)[0]),
    );
  }
  await current();
  await sleep(500);
  const position = b.position();
  for (let i = 0; i < 200; i++) t.ok(await (i % 2 === 0 ? a : b).publish(`id ${i}`));
  while (!b.changedSince('id 199', position)) await sleep(5);
  await current();
  t.notOk(b.changedSince('another', position), 'no number was missed');
  await Promise.all([a.close(), b.close()]);
}

const users = structureOf('p', 'users', fieldsOf('email TEXT unique'));

/** A real process whose variables say where Redis is. */
async function serves(t: Test, env: Record<string, string>): Promise<void> {
  const sluice = await sluiceFor(t, { env });
  const insert = () => call({ ...sluice, path: '/p/users', structure: users, body: [{ email: 'a' }] });
  t.equal((await insert()).status, 200);
  t.match(await insert(), { status: 400, body: { code: 'not_unique' } });
  t.equal(await sluice.stop(), 0);
  t.notMatch(sluice.stdout() + sluice.stderr(), /hunter2|Redis is away/);
}

/** Reservations of two processes exclude each other, by the scripts as they are. */
async function reserveBetween(t: Test, redis: RedisConnection, other: RedisConnection): Promise<void> {
  const log = silentLog();
  const all = [redis, other].map(
    (connection) => new RedisReservations({ redis: connection, log, everUsed: async () => false }),
  );
  const [a, b] = all as [(typeof all)[0], (typeof all)[0]];
  const values = Array.from({ length: 500 }, (_, i) => `value ${i}`);
  const first = taken(await eventually(() => a.reserve(values, signal)));
  let second = false;
  const waiting = b.reserve(['other', 'value 250'], signal).then((result) => {
    second = true;
    return taken(result);
  });
  await sleep(200);
  t.notOk(second);
  await first.settle([]);
  await (await waiting).settle([]);
  t.ok(second);
  await Promise.all(all.map((reservations) => reservations.close()));
}

/** A listener hears of writes by their messages. */
async function hears(redis: RedisConnection, versions: RedisVersions, outages: CacheOutages): Promise<void> {
  const empty = { db: { rows: async () => [] }, table: { selectByIds: () => ({ sql: '', home: '' }) } };
  const services = { ...empty, redis, outages, log: silentLog(), times: { poll: 3_600_000 } };
  const changes = new RedisChanges(services as unknown as ConstructorParameters<typeof RedisChanges>[0]);
  let told = 0;
  const changed = (_: unknown, count: number): void => {
    told += count;
  };
  await changes.listen('space', { changed, exclusive: readAtOnce, reset() {} }, signal);
  // until it has subscribed
  while (told === 0) await (await versions.begin('space'))({ ids: ['a'], areNew: true });
  changes.close();
}

t.test('a cluster of three nodes', async (t) => {
  const cluster = await startRedisCluster();
  const redis = await open(cluster.config);
  const other = await open(cluster.config);
  t.teardown(async () => {
    await Promise.all([redis.close(), other.close()]);
    await cluster.stop();
  });
  await useAll(redis, 'sluice:cluster');
  await reserveBetween(t, redis, other);
  await pushBetween(t, redis, other);

  // with no more rights than docs/redis.md names
  for (const node of cluster.nodes) {
    await node.command('ACL', 'SETUSER', 'sluice', 'on', '>hunter2', ...redisRights, ...clusterRights);
  }
  const user = { ...cluster.config, username: 'sluice', password: 'hunter2' };
  const [few, too] = [await open(user), await open(user)];
  await useAll(few, 'sluice:few');
  await reserveBetween(t, few, too);
  await pushBetween(t, few, too);
  const times = { lease: 5000, renewEvery: 20 };
  const lock = redisLocks({ redis: few, log: silentLog() })('tried', times);
  await lock.hold(() => sleep(100));
  const quiet = { rows: async () => [{ outages: 0 }] as never[], command: async () => {} };
  const outages = new CacheOutages({ db: quiet, database: 'sluice' });
  const versions = new RedisVersions({
    redis: few,
    log: silentLog(),
    outages,
    times: { settledAfter: 0 },
  });
  await versions.read('space');
  const end = await versions.begin('space');
  t.equal(await versions.read('space'), null);
  await end();
  t.type(await versions.read('space'), 'string');
  await hears(too, versions, outages);
  t.notMatch(few.failures.concat(too.failures).join(), /NOPERM/);
  await Promise.all([few.close(), too.close()]);

  const [first] = cluster.config.nodes;
  await serves(t, {
    REDIS_CLUSTER_NODES: `${first?.host}:${first?.port}`,
    REDIS_USERNAME: 'sluice',
    REDIS_PASSWORD: 'hunter2',
  });

  // a node that hangs: its keys fail after the deadline, those of others go on
  const [hanging, going] = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  const node = await cluster.nodeOf(hanging as string);
  let elsewhere = going as string;
  for (let i = 0; (await cluster.nodeOf(elsewhere)) === node; i++) elsewhere = `other ${i}`;
  await redis.set(hanging as string, 'x', 60_000);
  node.pause();
  const failure = rejectionOf(redis.set(hanging as string, 'y', 60_000));
  for (let i = 0; i < 20; i++) {
    await redis.set(elsewhere, `${i}`, 60_000);
    t.equal(await redis.get(elsewhere), `${i}`);
  }
  t.match(await failure, { name: 'RedisFailure', mayHaveRun: true });
  node.resume();
  t.match(await eventually(() => redis.get(hanging as string)), /^[xy]$/);
  // and one that is killed, and comes back
  await node.kill();
  t.match(await rejectionOf(redis.get(hanging as string)), { name: 'RedisFailure' });
  await redis.set(elsewhere, 'still', 60_000);
  await node.start();
  t.equal(await eventually(() => redis.get(hanging as string)), null);
});

t.test('a cluster whose nodes speak TLS, by names', async (t) => {
  const certificate = await certificateFor(t, 'DNS:localhost');
  const { ca } = certificate;
  const cluster = await startRedisCluster({ tls: certificate });
  const redis = await open({ ...cluster.config, ca });
  const other = await open({ ...cluster.config, ca });
  const distrustful = await open(cluster.config);
  t.teardown(async () => {
    await Promise.all([redis, other, distrustful].map((connection) => connection.close()));
    await cluster.stop();
  });
  await useAll(redis, 'sluice:tls');
  await reserveBetween(t, redis, other);
  await pushBetween(t, redis, other);
  t.match(await rejectionOf(distrustful.get('key')), { name: 'RedisFailure' });
  t.match(distrustful.failures.join(), /self-signed/);
  t.strictSame(redis.failures, []);
});

t.test('a replica of a cluster takes over', async (t) => {
  const cluster = await startRedisCluster({ replica: true });
  const redis = await open(cluster.config);
  t.teardown(async () => {
    await redis.close();
    await cluster.stop();
  });
  const [first, , , replica] = cluster.nodes as RedisServer[];
  let key = 'kept';
  for (let i = 0; (await cluster.nodeOf(key)) !== first; i++) key = `kept ${i}`;
  await redis.set(key, 'value', 60_000);
  while (!(await replica?.command('DBSIZE'))) await sleep(10);
  await first?.kill();
  t.match(await rejectionOf(redis.get(key)), { name: 'RedisFailure' });
  t.equal(await eventually(() => redis.get(key)), 'value');
  await redis.set(key, 'written', 60_000);
  t.equal(await redis.get(key), 'written');
});

t.test('a server that became a replica is left for the one that its address leads to now', async (t) => {
  const [before, after] = [await startRedis(), await startRedis()];
  const target = { host: before.config.host, port: before.config.port };
  const proxy = await startTcpProxy({ target });
  const redis = await open({ ...before.config, port: proxy.port });
  t.teardown(async () => {
    await redis.close();
    await Promise.all([before.stop(), after.stop()]);
    await proxy.close();
  });
  await redis.set('key', 'value', 60_000);
  await before.command('REPLICAOF', after.config.host, after.config.port);
  target.port = after.config.port;
  t.match(await rejectionOf(redis.set('key', 'refused', 60_000)), {
    name: 'RedisFailure',
    mayHaveRun: false,
  });
  await eventually(() => redis.set('key', 'written', 60_000));
  t.equal(await after.command('GET', 'key'), 'written');
});

t.test('a failover by Sentinel', async (t) => {
  const sentinel = await startRedisSentinel('hunter2-main');
  const redis = await open(sentinel.config);
  const other = await open(sentinel.config);
  t.teardown(async () => {
    await Promise.all([redis.close(), other.close()]);
    await sentinel.stop();
  });
  await useAll(redis, 'sluice:sentinel');
  await reserveBetween(t, redis, other);
  const [{ host, port }] = sentinel.config.sentinels as [{ host: string; port: number }];
  await serves(t, {
    REDIS_SENTINELS: `${host}:${port}`,
    REDIS_SENTINEL_NAME: 'main',
    REDIS_SENTINEL_PASSWORD: 'sentinel-hunter2-main',
    REDIS_PASSWORD: 'hunter2-main',
  });
  await redis.set('key', 'kept', 60_000);
  const [master, replica] = sentinel.servers;
  while ((await replica.command('GET', 'key')) !== 'kept') await sleep(10);
  await master.kill();
  t.match(await rejectionOf(redis.get('key')), { name: 'RedisFailure' });
  await sentinel.untilFailedOver();
  t.equal(await eventually(() => redis.get('key')), 'kept');
  await eventually(() => redis.set('key', 'written', 60_000));
  t.equal(await replica.command('GET', 'key'), 'written');
  await eventually(async () => useAll(redis, 'sluice:after'));
  t.notMatch(redis.failures.join(), /hunter2/);
});

t.test('a Sentinel and servers that speak TLS', async (t) => {
  const certificate = await certificateFor(t);
  const sentinel = await startRedisSentinel('hunter2-main', certificate);
  const redis = await open({ ...sentinel.config, ca: certificate.ca });
  const distrustful = await open(sentinel.config);
  t.teardown(async () => {
    await Promise.all([redis.close(), distrustful.close()]);
    await sentinel.stop();
  });
  await useAll(redis, 'sluice:tls');
  t.match(await rejectionOf(distrustful.get('key')), { name: 'RedisFailure' });
  t.match(distrustful.failures.join(), /self-signed/);
  t.strictSame(redis.failures, []);
});

t.test('nobody, or somebody who never answers, is not waited for at the start', async (t) => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const connections: Socket[] = [];
  silent.on('connection', (socket) => connections.push(socket));
  const nobody = { host: '127.0.0.1', port: await freePorts(1) };
  const hanging = { host: '127.0.0.1', port: (silent.address() as AddressInfo).port };
  for (const server of [nobody, hanging]) {
    for (const config of everyWay(server, false)) {
      const redis = await open(config);
      const failure = await rejectionOf(redis.get('key'));
      t.match(failure, { name: 'RedisFailure', mayHaveRun: false }, config.mode);
      if (server === nobody) t.match(redis.failures.join(), /ECONNREFUSED/, config.mode);
      await redis.close();
    }
  }
  t.ok(connections.length >= 3);
  for (const socket of connections) socket.destroy();
  silent.close();
});

t.test('TLS with a CA of its own', async (t) => {
  const certificate = await certificateFor(t, 'DNS:localhost');
  const port = await freePorts(1);
  const server = await startRedis({ args: redisArguments(redisTlsOptions(port, certificate)) });
  const config = { ...server.config, host: 'localhost', port, tls: true };
  const redis = await open({ ...config, ca: certificate.ca });
  const distrustful = await open(config);
  t.teardown(async () => {
    await Promise.all([redis.close(), distrustful.close()]);
    await server.stop();
  });
  await useAll(redis, 'sluice:tls');
  t.match(await rejectionOf(distrustful.get('key')), { name: 'RedisFailure' });
  t.match(distrustful.failures.join(), /self-signed/);
});
