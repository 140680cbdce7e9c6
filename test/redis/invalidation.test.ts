import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { Invalidation } from '#coordination/redis/invalidation.ts';
import { openRedis } from '#coordination/redis/open-redis.ts';
import { RedisInvalidation } from '#coordination/redis/redis-invalidation.ts';
import type { RedisConfig } from '#kernel/config/read-redis.ts';
import { type RedisServer, startRedis } from '../services/redis.ts';
import { startRedisSentinel } from '../services/redis-sentinel.ts';
import { silentLog } from '../services/silent-log.ts';
import { startTcpProxy } from '../services/tcp-proxy.ts';

const quick = { connect: 1000, command: 400, backoff: 50 };
const times = { poll: 100, trustFor: 600 };

async function openServer(t: Test): Promise<RedisServer> {
  const server = await startRedis();
  t.teardown(() => server.stop());
  return server;
}

async function openPush(t: Test, config: RedisConfig, idLimit?: number) {
  const log = silentLog();
  const redis = await openRedis(config, log, quick);
  const invalidation = new RedisInvalidation({
    redis,
    log,
    times,
    ...(idLimit === undefined ? {} : { idLimit }),
  });
  t.teardown(async () => {
    await invalidation.close();
    await redis.close();
  });
  await until(() => invalidation.isCurrent());
  return Object.assign(invalidation, { log });
}

async function until(done: () => boolean): Promise<void> {
  while (!done()) await sleep(5);
}

/** Whether what was seen at the position would be trusted. */
const trusted = (
  invalidation: Invalidation,
  id: string,
  position: ReturnType<Invalidation['position']>,
): boolean => invalidation.isCurrent() && !invalidation.changedSince(id, position);

/** From `trustFor` after a publication on, however late that is looked at, nothing older may be trusted. */
async function neverTrustedAgain(
  t: Test,
  invalidation: Invalidation,
  id: string,
  position: ReturnType<Invalidation['position']>,
  from: number,
) {
  let looks = 0;
  while (looks < 40) {
    const now = performance.now();
    const trusts = trusted(invalidation, id, position);
    if (now > from + times.trustFor) {
      looks++;
      if (trusts) t.fail(`trusted ${now - from} ms after it was published`);
    }
    await sleep(10);
  }
  t.notOk(trusted(invalidation, id, position));
}

t.test('what one publishes the others know, and what was seen later stays', async (t) => {
  const server = await openServer(t);
  const [a, b] = [await openPush(t, server.config), await openPush(t, server.config)];
  const before = b.position();
  t.ok(trusted(b, 'x', before));
  t.ok(await a.publish('x'));
  await until(() => b.changedSince('x', before));
  t.ok(trusted(b, 'y', before), 'nothing but what was published');
  const after = b.position();
  t.ok(trusted(b, 'x', after));
  t.ok(a.changedSince('x', before));
  // from its own message on
  await until(() => trusted(a, 'x', a.position()));
  // many at once, from both
  const ids = Array.from({ length: 500 }, (_, i) => `id ${i}`);
  await Promise.all(ids.map((id, i) => (i % 2 === 0 ? a : b).publish(id)));
  await until(() => ids.every((id) => a.changedSince(id, after) && b.changedSince(id, after)));
  t.ok(trusted(a, 'x', after), 'no number was missed');
});

t.test('a stamp counts for others, until its id is published or their time began later', async (t) => {
  const server = await openServer(t);
  const [a, b] = [await openPush(t, server.config), await openPush(t, server.config)];
  await a.publish('first');
  const position = a.position();
  await until(() => (a.position()?.message ?? 0) > 0 && b.position()?.message === a.position()?.message);
  const stamp = a.stampOf(a.position() as NonNullable<typeof position>);
  t.ok(trusted(b, 'x', b.positionOf(stamp)));
  await a.publish('x');
  await until(() => b.changedSince('x', b.positionOf(stamp)));
  t.ok(trusted(b, 'y', b.positionOf(stamp)));
  const late = await openPush(t, server.config);
  t.equal(late.positionOf(stamp), null, 'it does not know what was published before it came');
  t.equal(b.positionOf('otherserver:5'), null);
  t.equal(b.positionOf('junk'), null);
});

t.test('a subscription that hangs is no reason to trust', async (t) => {
  const server = await openServer(t);
  const proxy = await startTcpProxy({ target: server.config });
  t.teardown(() => proxy.close());
  const a = await openPush(t, server.config);
  const b = await openPush(t, { ...server.config, port: proxy.port });
  await until(() => proxy.connections().length === 2);
  // the commands of b go on; only what is published does not arrive
  const before = b.position();
  await a.publish('heard');
  await until(() => b.changedSince('heard', before));
  const position = b.position();
  const [, subscription] = proxy.connections();
  subscription?.toClient.set({ frozen: true });
  await a.publish('x');
  t.ok(await b.publish('own'));
  t.ok(b.changedSince('own', position), 'what a process publishes it knows by itself');
  await neverTrustedAgain(t, b, 'x', position, performance.now());
  await until(() => b.isCurrent());
  t.match(b.log.failures.join(), /invalidations were missed/);
  // it took another connection, and hears again
  for (;;) {
    const again = b.position();
    await a.publish('y');
    await sleep(100);
    if (b.changedSince('y', again) && !b.changedSince('z', again)) break;
  }
});

t.test('no answer from Redis: nothing is trusted; what was published is known when it is back', async (t) => {
  const server = await openServer(t);
  const proxy = await startTcpProxy({ target: server.config });
  t.teardown(() => proxy.close());
  const a = await openPush(t, server.config);
  const b = await openPush(t, { ...server.config, port: proxy.port });
  const position = b.position();
  for (const direction of ['toClient', 'toTarget'] as const) proxy.set(direction, { frozen: true });
  t.ok(await a.publish('x'));
  await neverTrustedAgain(t, b, 'x', position, performance.now());
  t.notOk(b.isCurrent());
  t.notOk(await b.publish('by b'), 'it is told that others do not know');
  const others = a.position();
  for (const direction of ['toClient', 'toTarget'] as const) proxy.set(direction, { frozen: false });
  await until(() => a.changedSince('by b', others));
  await until(() => b.isCurrent());
  t.ok(b.changedSince('x', position));
});

t.test('a server that is stopped and goes on', async (t) => {
  const server = await openServer(t);
  const [a, b] = [await openPush(t, server.config), await openPush(t, server.config)];
  const position = b.position();
  server.pause();
  const published = a.publish('x');
  await until(() => !b.isCurrent());
  await published;
  server.resume();
  await until(() => b.isCurrent() && b.changedSince('x', position));
  t.pass();
});

for (const [how, lose] of [
  [
    'restarted empty',
    async (server: RedisServer) => {
      await server.kill();
      await server.start();
    },
  ],
  ['flushed', (server: RedisServer) => server.command('FLUSHALL')],
] as const) {
  t.test(`Redis is ${how}: nothing that was known before outlives the next publication`, async (t) => {
    const server = await openServer(t);
    const [a, b] = [await openPush(t, server.config), await openPush(t, server.config)];
    for (let round = 0; round < 2; round++) {
      await until(() => a.isCurrent() && b.isCurrent());
      const position = b.position();
      const stamp = a.stampOf(a.position() as NonNullable<typeof position>);
      await lose(server);
      while (!(await a.publish('x'))) await sleep(10);
      await neverTrustedAgain(t, b, 'x', position, performance.now());
      await neverTrustedAgain(t, b, 'x', b.positionOf(stamp), 0);
      await until(() => trusted(b, 'x', b.position()));
    }
  });
}

for (const policy of ['noeviction', 'allkeys-lru', 'volatile-ttl']) {
  t.test(`no memory left (${policy}): it is published all the same`, async (t) => {
    const server = await openServer(t);
    const [a, b] = [await openPush(t, server.config), await openPush(t, server.config)];
    await server.command('CONFIG', 'SET', 'maxmemory-policy', policy);
    await server.command('CONFIG', 'SET', 'maxmemory', 1);
    for (let round = 0; round < 5; round++) {
      const position = b.position();
      t.ok(await a.publish(`x ${round}`));
      await until(() => b.changedSince(`x ${round}`, position));
      await until(() => b.isCurrent());
    }
  });
}

t.test('more ids than are remembered: all are taken for changed', async (t) => {
  const server = await openServer(t);
  const a = await openPush(t, server.config);
  const b = await openPush(t, server.config, 10);
  const position = b.position();
  for (let i = 0; i < 15; i++) await a.publish(`id ${i}`);
  await until(() => b.changedSince('never published', position));
  await until(() => b.changedSince('id 14', position));
  for (let i = 0; i < 15; i++) t.ok(b.changedSince(`id ${i}`, position));
});

t.test('a failover: the new server tells nothing of the old one, so nothing is kept', async (t) => {
  const sentinel = await startRedisSentinel('hunter2');
  t.teardown(() => sentinel.stop());
  const [a, b] = [await openPush(t, sentinel.config), await openPush(t, sentinel.config)];
  const position = b.position();
  await sentinel.servers[0].kill();
  await sentinel.untilFailedOver();
  while (!(await a.publish('x'))) await sleep(20);
  await neverTrustedAgain(t, b, 'x', position, performance.now());
  await until(() => b.isCurrent());
  t.ok(b.changedSince('anything', position));
  // and it hears from the new one
  for (let heard = false; !heard; ) {
    const again = b.position();
    await a.publish('y');
    await sleep(100);
    heard = b.changedSince('y', again) && !b.changedSince('z', again);
  }
});
