import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { openRedis } from '#coordination/redis/open-redis.ts';
import { LeaseSession, type LeaseTimes, usualTimes } from '#records/unique/lease-sessions.ts';
import { RedisReservations } from '#records/unique/redis-reservations.ts';
import { reservationsKey } from '#records/unique/reservation-store.ts';
import type { Reservation } from '#records/unique/unique-reservations.ts';
import { scriptArgs } from '../services/built.ts';
import { type RedisServer, startRedis } from '../services/redis.ts';
import { silentLog } from '../services/silent-log.ts';
import { startTcpProxy } from '../services/tcp-proxy.ts';
import { taken } from '../services/unique-reservations-suite.ts';

/** Short, so that leases run out within a test; a busy machine may pause a process for part of one. */
const times: LeaseTimes = { lease: 1200, margin: 100, writeTime: 200, renewEvery: 120 };
const quick = { connect: 1000, command: 300, backoff: 50 };
const idle = new AbortController().signal;

/** A process, as far as reservations go. @param port of a proxy in between */
async function openProcess(
  t: Test,
  server: RedisServer,
  more: { port?: number; waitLimit?: number; everUsed?: boolean } = {},
) {
  const { port = server.config.port, waitLimit = 20_000, everUsed = false } = more;
  const log = silentLog();
  const redis = await openRedis({ ...server.config, port }, log, quick);
  const reservations = new RedisReservations({
    redis,
    log,
    times,
    waitLimit,
    everUsed: async () => everUsed,
  });
  t.teardown(async () => {
    await reservations.close();
    await redis.close();
  });
  return { log, reserve: (...keys: string[]) => reservations.reserve(keys, idle) };
}

async function openServer(t: Test): Promise<RedisServer> {
  const server = await startRedis();
  t.teardown(() => server.stop());
  return server;
}

function mayWrite({ permit }: Reservation): boolean {
  try {
    permit?.check();
    return true;
  } catch (error) {
    if ((error as { code?: string }).code !== 'unavailable') throw error;
    return false;
  }
}

/** Reserves as soon as it is possible, whatever Redis does meanwhile. */
async function eventually(reserve: () => ReturnType<Awaited<ReturnType<typeof openProcess>>['reserve']>) {
  for (;;) {
    try {
      return taken(await reserve());
    } catch (error) {
      if ((error as { status?: number }).status !== 503) throw error;
      await sleep(10);
    }
  }
}

t.test('a lease that is renewed lasts as long as its write', async (t) => {
  const server = await openServer(t);
  const a = await openProcess(t, server);
  const b = await openProcess(t, server, { waitLimit: 3 * times.lease });
  const slow = taken(await a.reserve('v'));
  await t.rejects(b.reserve('v'), { status: 503, code: 'overloaded' });
  t.ok(mayWrite(slow));
  const next = b.reserve('v');
  await slow.settle([]);
  await taken(await next).settle([]);
});

t.test('a killed process: its values are free after the lease, and not before', async (t) => {
  const server = await openServer(t);
  const child = spawn(
    process.execPath,
    [
      ...scriptArgs('test/services/hold-values.ts'),
      ...[server.config, times, ['v', 'w']].map((value) => JSON.stringify(value)),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  t.teardown(() => child.kill('SIGKILL'));
  const [text] = await once(child.stdout, 'data');
  t.equal(String(text), 'held\n');
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  const fields = (await server.command('HKEYS', reservationsKey)) as string[];
  const session = fields.find((field) => field.startsWith('s')) as string;
  const endsAt = Number(await server.command('HGET', reservationsKey, session));
  t.ok(endsAt > 0);
  const a = await openProcess(t, server);
  const next = taken(await a.reserve('w'));
  const [seconds, microseconds] = ((await server.command('TIME')) as string[]).map(Number) as [
    number,
    number,
  ];
  // by Redis' own clock
  t.ok(seconds * 1000 + microseconds / 1000 >= endsAt);
  await next.settle([]);
  await taken(await a.reserve('v', 'w')).settle([]);
});

t.test('a process that loses Redis: others get its values only when it may not write any more', async (t) => {
  const server = await openServer(t);
  const proxy = await startTcpProxy({ target: server.config });
  const a = await openProcess(t, server, { port: proxy.port });
  const b = await openProcess(t, server);
  const cut = taken(await a.reserve('v'));
  t.ok(mayWrite(cut));
  for (const direction of ['toClient', 'toTarget'] as const) proxy.set(direction, { frozen: true });
  const next = taken(await b.reserve('v'));
  t.notOk(mayWrite(cut));
  await t.rejects(a.reserve('other'), { code: 'unavailable' });
  for (const direction of ['toClient', 'toTarget'] as const) proxy.set(direction, { frozen: false });
  await (await eventually(() => a.reserve('other'))).settle([]);
  t.notOk(mayWrite(cut), 'it does not come back');
  await cut.settle([]);
  t.ok(mayWrite(next), 'and what it gives back is not what others hold');
  await next.settle([]);
  for (const connection of proxy.connections()) connection.cut('rst');
  t.teardown(() => proxy.close());
});

for (const [how, lose] of [
  ['flushed', (server: RedisServer) => server.command('FLUSHALL')],
  ['evicted', (server: RedisServer) => server.command('DEL', reservationsKey)],
  [
    'restarted empty',
    async (server: RedisServer) => {
      await server.kill();
      await server.start();
    },
  ],
] as const) {
  t.test(`${how} while values are held: no second holder while the first may write`, async (t) => {
    const server = await openServer(t);
    const a = await openProcess(t, server, { everUsed: true });
    const b = await openProcess(t, server, { everUsed: true });
    for (let round = 0; round < 2; round++) {
      const held = await eventually(() => a.reserve('v'));
      const waiting = b.reserve('v').then(taken);
      const fallen = waiting.catch(() => null);
      await lose(server);
      // some asked Redis in the wrong moment
      const next = (await fallen) ?? (await eventually(() => b.reserve('v')));
      t.notOk(mayWrite(held), 'the first may not begin any more');
      t.ok(mayWrite(next));
      await held.settle([]);
      t.ok(mayWrite(next));
      const third = a.reserve('v');
      await next.settle([]);
      await taken(await third).settle([]);
    }
    t.match(a.log.failures.concat(b.log.failures).join(), /has lost/);
  });
}

t.test('a new store needs no wait, an old one does', async (t) => {
  const fresh = await openServer(t);
  const a = await openProcess(t, fresh, { waitLimit: 1 });
  await taken(await a.reserve('v')).settle([]);
  const old = await openServer(t);
  const b = await openProcess(t, old, { waitLimit: 1, everUsed: true });
  await t.rejects(b.reserve('v'), { status: 503, code: 'overloaded', message: /lost/ });
  await (await eventually(() => b.reserve('v'))).settle([]);
});

t.test('a reservation whose answer was lost is not held for ever', async (t) => {
  const server = await openServer(t);
  const proxy = await startTcpProxy({ target: server.config });
  const a = await openProcess(t, server, { port: proxy.port });
  const b = await openProcess(t, server);
  await taken(await a.reserve('first')).settle([]);
  const slow = taken(await a.reserve('slow'));
  proxy.set('toClient', { frozen: true });
  const lost = t.rejects(a.reserve('v'), { status: 503, code: 'unavailable' });
  const names = async () =>
    ((await server.command('HKEYS', reservationsKey)) as string[]).filter((name) => name[0] === 'k');
  while ((await names()).length < 2) await sleep(5);
  for (const connection of proxy.connections()) connection.cut('rst');
  proxy.set('toClient', { frozen: false });
  await lost;
  const next = b.reserve('v').then(taken);
  await (await eventually(() => a.reserve('another'))).settle([]);
  t.ok(mayWrite(slow), 'other writes of that process go on');
  await slow.settle([]);
  await (await next).settle([]);
  t.teardown(() => proxy.close());
});

t.test('without Redis: 503 with a clear text, and back by itself', async (t) => {
  const server = await openServer(t);
  const a = await openProcess(t, server);
  await taken(await a.reserve('v')).settle([]);
  await server.kill();
  await t.rejects(a.reserve('v'), {
    status: 503,
    code: 'unavailable',
    message: 'Unique values, and Idempotency-Keys, can not be reserved at the moment; try again',
    headers: { 'retry-after': '1' },
  });
  await server.start();
  await (await eventually(() => a.reserve('v'))).settle([]);
});

t.test('no memory left in Redis: 503, and back by itself', async (t) => {
  const server = await openServer(t);
  const a = await openProcess(t, server);
  const held = taken(await a.reserve('held'));
  await server.command('CONFIG', 'SET', 'maxmemory', 1);
  await t.rejects(a.reserve('v'), { status: 503, code: 'unavailable' });
  await held.settle([]);
  await server.command('CONFIG', 'SET', 'maxmemory', 0);
  await (await eventually(() => a.reserve('v', 'held'))).settle([]);
  t.equal(a.log.failures.length, 1, a.log.failures.join());
});

t.test('a policy that evicts in a full Redis: 503, and never two holders', async (t) => {
  const server = await openServer(t);
  const a = await openProcess(t, server, { waitLimit: 300, everUsed: true });
  const b = await openProcess(t, server, { waitLimit: 300, everUsed: true });
  const held = await eventually(() => a.reserve('v'));
  await server.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
  await server.command('CONFIG', 'SET', 'maxmemory', 1);
  let refused = 0;
  for (let i = 0; i < 4; i++) {
    const next = await b.reserve('v').then(taken, (error: { status?: number }) => error.status);
    if (next === 503) refused++;
    else if (typeof next === 'object') t.notOk(mayWrite(held) && mayWrite(next));
    else t.fail(`${next}`);
  }
  t.ok(refused > 0);
  await held.settle([]);
  await server.command('CONFIG', 'SET', 'maxmemory', 0);
  await (await eventually(() => b.reserve('v'))).settle([]);
});

t.test('a lease by two clocks: whichever says that it is over is right', async (t) => {
  let monotonic = 0;
  let wall = 1_000_000;
  const session = new LeaseSession(usualTimes, () => ({ monotonic, wall }));
  const { lease, margin, writeTime } = usualTimes;
  t.ok(session.coversWrite());
  monotonic = lease - margin - writeTime;
  wall -= 500_000;
  t.ok(session.coversWrite());
  monotonic++;
  t.notOk(session.coversWrite());
  session.sent = { monotonic, wall };
  t.ok(session.coversWrite());
  // a machine that slept: only the wall clock went on
  wall += lease - margin - writeTime + 1;
  t.notOk(session.coversWrite());
  session.sent = { monotonic, wall };
  session.lost = true;
  t.notOk(session.coversWrite());
});
