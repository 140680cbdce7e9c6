import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { openRedis } from '#coordination/redis/open-redis.ts';
import type { RedisConnection } from '#coordination/redis/redis-connection.ts';
import type { RedisConfig } from '#kernel/config/read-redis.ts';
import { CacheOutages } from '#records/store-shared/cache-outages.ts';
import { keysOf, RedisVersions } from '#records/store-shared/redis-versions.ts';
import { OutageTable } from '../services/outage-table.ts';
import { startRedis } from '../services/redis.ts';
import { silentLog } from '../services/silent-log.ts';
import { startTcpProxy } from '../services/tcp-proxy.ts';

t.setTimeout(120_000);
const lifetime = 400;
const outageTimes = { lifetime, trust: 300, refresh: 10, length: 3000 };
const quick = { connect: 1000, command: 300, backoff: 50 };
const server = await startRedis();
const proxy = await startTcpProxy({ target: server.config });
const connections: RedisConnection[] = [];
const table = new OutageTable();

interface Process {
  readonly outages: CacheOutages;
  readonly versions: RedisVersions;
}

async function openProcess(
  config: RedisConfig,
  times: ConstructorParameters<typeof RedisVersions>[0]['times'] = {},
  db = table,
): Promise<Process> {
  const log = silentLog();
  const redis = await openRedis(config, log, quick);
  connections.push(redis);
  const outages = new CacheOutages({ db, database: 'sluice', times: outageTimes });
  const settled = { settledAfter: 0, lifetime, writePatience: 200, renewEvery: 50 };
  return { outages, versions: new RedisVersions({ redis, outages, log, times: { ...settled, ...times } }) };
}
const straight = await openProcess(server.config);
// the second process reaches Redis over a line that can be cut
const behind = await openProcess({ ...server.config, port: proxy.port });
const freeze = (frozen: boolean): void => {
  for (const direction of ['toClient', 'toTarget'] as const) proxy.set(direction, { frozen });
};
t.teardown(async () => {
  for (const redis of connections) await redis.close();
  // connections that were frozen end with their server
  await server.stop();
  await proxy.close();
});

/** What a reader goes by once it does. */
async function versionOf({ versions }: Process, id: string): Promise<string> {
  for (;;) {
    const version = await versions.read(id);
    if (version !== null) return version;
    await sleep(5);
  }
}

async function write({ versions }: Process, id: string): Promise<void> {
  const end = await versions.begin(id);
  await end();
}

/** Until nobody knows of an outage any more. */
async function quiet(): Promise<void> {
  const id = randomUUID();
  await versionOf(straight, id);
  await versionOf(behind, id);
}

t.test('a version is random, the same for all, another one after a write, and ends by itself', async (t) => {
  const id = randomUUID();
  const seen = new Set<string>();
  for (let i = 0; i < 50; i++) {
    const version = await versionOf(straight, id);
    t.notOk(seen.has(version));
    seen.add(version);
    await write(i % 2 === 0 ? straight : behind, id);
  }
  const version = await versionOf(straight, id);
  t.equal(await versionOf(behind, id), version);
  const left = Number(await server.command('PTTL', keysOf(id)[0]));
  t.ok(left > 0 && left <= lifetime);
  while ((await versionOf(straight, id)) === version) await sleep(20);
  t.not(await versionOf(straight, id), version, 'reading did not prolong it');
});

t.test('while somebody writes to a space it has no version, and other spaces have theirs', async (t) => {
  const [id, other] = [randomUUID(), randomUUID()];
  await versionOf(straight, id);
  const kept = await versionOf(straight, other);
  const first = await behind.versions.begin(id);
  const second = await behind.versions.begin(id);
  const third = await straight.versions.begin(id);
  for (const end of [first, third, second]) {
    t.equal(await straight.versions.read(id), null);
    t.equal(await behind.versions.read(id), null);
    await end();
  }
  await versionOf(straight, id);
  t.equal(await straight.versions.read(other), kept);
  t.equal(await server.command('EXISTS', keysOf(id)[1]), 0, 'nothing is left of the writers');
});

t.test('a writer that is never heard of again is forgotten', async (t) => {
  const id = randomUUID();
  const dying = await openProcess(server.config, { writerLifetime: 300, renewEvery: 3_600_000 });
  await dying.versions.begin(id);
  t.equal(await straight.versions.read(id), null);
  await versionOf(straight, id);
  // and beside others
  await dying.versions.begin(randomUUID());
  t.pass();
});

t.test('writes of one moment share commands', async (t) => {
  const id = randomUUID();
  const calls = async (name: string): Promise<number> => {
    const stats = String(await server.command('INFO', 'commandstats'));
    return Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
  };
  const once = await openProcess(server.config, { renewEvery: 3_600_000 });
  const before = [await calls('zadd'), await calls('zrem')];
  const ends = await Promise.all(Array.from({ length: 300 }, () => once.versions.begin(id)));
  await Promise.all(ends.map((end) => end()));
  t.strictSame([await calls('zadd'), await calls('zrem')], [Number(before[0]) + 1, Number(before[1]) + 1]);
});

t.test('a replica that knows an older version, after a failover, is no way back to it', async (t) => {
  const id = randomUUID();
  const version = await versionOf(straight, id);
  const [, text = ''] = version.split(':');
  await server.kill();
  await server.start();
  // what a replica would have
  await server.command('SET', keysOf(id)[0], text);
  const again = await versionOf(straight, id);
  t.equal(again.split(':')[1], text);
  t.not(again, version);
  await quiet();
});

t.test('Redis forgets a writer: the version that was made meanwhile is removed with the write', async (t) => {
  const forgetful = await openProcess(server.config, { renewEvery: 3_600_000 });
  const id = randomUUID();
  const end = await forgetful.versions.begin(id);
  await server.command('FLUSHALL');
  const early = await versionOf(straight, id);
  await end();
  t.not(await versionOf(straight, id), early);
});

t.test('a server that began just now gives no versions: it may have lost writers', async (t) => {
  const id = randomUUID();
  await server.kill();
  await server.start();
  const careful = await openProcess(server.config, { settledAfter: 60_000 });
  while (!careful.outages.trusted()) await sleep(5);
  t.equal(await careful.versions.read(id), null);
  await versionOf(straight, id);
  await quiet();
});

t.test('Redis forgets a writer: it stands there again before a new server gives versions', async (t) => {
  const id = randomUUID();
  const careful = await openProcess(server.config, { settledAfter: 2000 });
  const end = await behind.versions.begin(id);
  await server.kill();
  await server.start();
  t.equal(await careful.versions.read(id), null, 'it does not give any at once');
  const other = randomUUID();
  await versionOf(careful, other);
  // the reader of the other space goes by versions, so the writer stands in Redis, or nobody would
  t.equal(await careful.versions.read(id), null);
  await end();
  await versionOf(careful, id);
  await quiet();
});

/** Redis away for a writer: what it waits for, and what readers go by meanwhile. */
async function outage(t: Test, begin: () => unknown, end: () => unknown): Promise<void> {
  const id = randomUUID();
  const before = await versionOf(straight, id);
  await begin();
  const rows = table.inserted;
  for (let i = 0; i < 20; i++) {
    const ended = await behind.versions.begin(id);
    t.equal(await straight.versions.read(id), null, 'nobody goes by versions when it may be seen');
    await ended();
    t.equal(await straight.versions.read(id), null);
  }
  t.ok(table.inserted - rows < 10, 'writes share a row');
  await end();
  t.equal(await straight.versions.read(id), null, 'nor behind it, as long as versions from before last');
  await quiet();
  t.not(await versionOf(straight, id), before);
}

t.test('a writer without Redis tells readers by a row, once', async (t) => {
  await outage(t, server.kill, server.start);
  await outage(t, server.pause, server.resume);
  // the worst: one that writes is cut off, and another one goes on
  await outage(
    t,
    () => freeze(true),
    () => freeze(false),
  );
});

t.test('a reader that asked just before the row uses no versions when the write begins', async (t) => {
  const id = randomUUID();
  freeze(true);
  const began = behind.versions.begin(id);
  let trusting = 0;
  let over = false;
  const reading = (async () => {
    // the table is asked again and again, until the last moment before the row
    while (!over) {
      if (straight.outages.trusted()) trusting++;
      await sleep(1);
    }
  })();
  const end = await began;
  t.equal(straight.outages.trusted(), false);
  over = true;
  await reading;
  t.ok(trusting > 0);
  freeze(false);
  await end();
  await quiet();
});

t.test('versions of an outage are over when readers go by versions again', async (t) => {
  const id = randomUUID();
  // it is not told of the outage
  const unaware = await openProcess(server.config, {}, new OutageTable());
  freeze(true);
  await write(behind, id);
  let last = '';
  while (behind.outages.covered) {
    await server.command('DEL', keysOf(id)[0]);
    last = await versionOf(unaware, id);
  }
  freeze(false);
  t.not(await versionOf(straight, id), last);
  await quiet();
});

t.test('a write that Redis knew of when it began waits for readers when Redis has gone', async (t) => {
  const id = randomUUID();
  const end = await behind.versions.begin(id);
  const rows = table.inserted;
  freeze(true);
  await end();
  t.ok(table.inserted > rows);
  t.equal(await straight.versions.read(id), null);
  freeze(false);
  await quiet();
});

t.test('neither Redis nor the table can be reached: nothing is written', async (t) => {
  freeze(true);
  table.away = true;
  await t.rejects(behind.versions.begin(randomUUID()), { status: 503, code: 'unavailable' });
  table.away = false;
  freeze(false);
  await quiet();
});

t.test('the table can not be reached when a write ends: all versions end first', async (t) => {
  const id = randomUUID();
  const end = await behind.versions.begin(id);
  const other = randomUUID();
  const before = await versionOf(straight, other);
  freeze(true);
  table.away = true;
  await end();
  table.away = false;
  freeze(false);
  await quiet();
  t.not(await versionOf(straight, other), before);
});
