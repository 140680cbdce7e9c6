import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { openRedis } from '#coordination/redis/open-redis.ts';
import type { RedisConnection } from '#coordination/redis/redis-connection.ts';
import { redisScript } from '#coordination/redis/redis-connection.ts';
import { RedisOutage } from '#coordination/redis/redis-outage.ts';
import { type RedisServer, startRedis } from '../services/redis.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { silentLog } from '../services/silent-log.ts';
import { startTcpProxy } from '../services/tcp-proxy.ts';

const quick = { connect: 1000, command: 200, backoff: 50 };
const increment = redisScript(`return redis.call('INCR', KEYS[1])`);
const echo = redisScript('return {KEYS[1], ARGV[1], ARGV[2]}');

const warnings: string[] = [];
process.on('warning', (warning) => warnings.push(String(warning)));

async function untilAnswered(redis: RedisConnection): Promise<void> {
  while ((await redis.run(echo, ['k'], [1, 2]).catch(() => null)) === null) await sleep(10);
}

async function connected(
  t: Test,
  config: Partial<RedisServer['config']> = {},
  times: Parameters<typeof openRedis>[2] | null = quick,
) {
  const server = await startRedis();
  const log = silentLog();
  const redis = await openRedis({ ...server.config, ...config }, log, times ?? undefined);
  t.teardown(async () => {
    await redis.close();
    await server.stop();
  });
  return { server, log, redis };
}

t.test('scripts run in their order, and once', async (t) => {
  const { server, redis } = await connected(t, {}, null);
  t.strictSame(await redis.run(echo, ['k'], ['ä\u0000', 7]), ['k', 'ä\u0000', '7']);
  t.strictSame(
    await Promise.all(Array.from({ length: 500 }, () => redis.run(increment, ['n'], []))),
    Array.from({ length: 500 }, (_, i) => i + 1),
  );
  await server.command('SCRIPT', 'FLUSH');
  t.equal(await redis.run(increment, ['n'], []), 501, 'Redis forgot the script');
  t.match(await rejectionOf(redis.run(redisScript('return nothing()'), [], [])), {
    name: 'RedisFailure',
    mayHaveRun: false,
  });
  t.match(
    await rejectionOf(Promise.all(Array.from({ length: 20_000 }, () => redis.run(increment, ['m'], [])))),
    {
      message: /too many commands/,
      mayHaveRun: false,
    },
  );
});

t.test('an outage fails at once, is told once, and ends by itself', async (t) => {
  const { server, log, redis } = await connected(t);
  let connections = 0;
  redis.onConnected(() => connections++);
  t.equal(connections, 1);
  await server.kill();
  for (let i = 0; i < 100; i++) {
    t.match(await rejectionOf(redis.run(increment, ['n'], [])), { name: 'RedisFailure' });
    await sleep(2);
  }
  t.match(log.failures, [/Redis is away/]);
  t.equal(log.failures.length, 1);
  await server.start();
  await untilAnswered(redis);
  t.equal(connections, 2);
  await server.kill();
  t.match(await rejectionOf(redis.run(increment, ['n'], [])), { name: 'RedisFailure' });
  while (log.failures.length < 2) await sleep(10);
  await server.start();
  await untilAnswered(redis);
  t.equal(log.failures.length, 2);
});

t.test('a server that does not answer: a deadline, then fresh connections until one does', async (t) => {
  const { server, log, redis } = await connected(t);
  server.pause();
  const failures = await Promise.all(
    Array.from({ length: 50 }, () => rejectionOf(redis.run(increment, ['n'], []))),
  );
  for (const failure of failures) t.match(failure, { name: 'RedisFailure', mayHaveRun: true });
  t.match(await rejectionOf(redis.run(increment, ['n'], [])), { name: 'RedisFailure' });
  server.resume();
  await untilAnswered(redis);
  t.equal(log.failures.length, 1, log.failures.join());
});

t.test('an answer that is lost may have run; nothing is sent twice', async (t) => {
  const server = await startRedis();
  const proxy = await startTcpProxy({ target: server.config });
  const redis = await openRedis({ ...server.config, port: proxy.port }, silentLog(), quick);
  t.teardown(async () => {
    await redis.close();
    await server.stop();
    await proxy.close();
  });
  t.equal(await redis.run(increment, ['n'], []), 1);
  proxy.set('toClient', { frozen: true });
  const lost = rejectionOf(redis.run(increment, ['n'], []));
  while ((await server.command('GET', 'n')) !== '2') await sleep(5);
  for (const connection of proxy.connections()) connection.cut('rst');
  t.match(await lost, { name: 'RedisFailure', mayHaveRun: true });
  proxy.set('toClient', { frozen: false });
  await untilAnswered(redis);
  t.equal(await redis.run(increment, ['n'], []), 3);
});

t.test('without Redis a process starts, and finds it later', async (t) => {
  const server = await startRedis();
  await server.kill();
  const log = silentLog();
  const redis = await openRedis(server.config, log, quick);
  t.teardown(async () => {
    await redis.close();
    await server.stop();
  });
  t.match(log.failures, [/ECONNREFUSED/]);
  t.match(await rejectionOf(redis.run(increment, ['n'], [])), { mayHaveRun: false });
  await server.start();
  await untilAnswered(redis);
});

t.test('a password is used, and never told', async (t) => {
  const password = 'p@ss word/%41';
  const server = await startRedis({ args: ['--requirepass', password], password });
  const log = silentLog();
  const redis = await openRedis(server.config, log, quick);
  const wrong = await openRedis({ ...server.config, password: 'hunter2' }, log, quick);
  const odd = await startRedis({ args: ['--rename-command', 'AUTH', ''] });
  const unknown = await openRedis({ ...odd.config, password: 'hunter2' }, log, quick);
  t.teardown(async () => {
    await Promise.all([redis, wrong, unknown].map((connection) => connection.close()));
    await server.stop();
    await odd.stop();
  });
  await untilAnswered(redis);
  const failures = [
    await rejectionOf(wrong.run(echo, ['k'], [])),
    await rejectionOf(unknown.run(echo, ['k'], [])),
  ];
  t.match(log.failures.join(), /WRONGPASS/);
  t.match(log.failures.join(), /unknown command/);
  for (const text of [
    log.failures.join(),
    ...failures.map((failure) => JSON.stringify(failure) + String(failure)),
  ]) {
    t.notMatch(text, /hunter2/);
    t.notOk(text.includes(password));
  }
});

t.test('a database that the server does not have is not taken for another', async (t) => {
  const { server, log, redis } = await connected(t, { db: 500 });
  for (let i = 0; i < 20; i++) {
    t.match(await rejectionOf(redis.run(increment, ['n'], [])), { name: 'RedisFailure' });
    await sleep(10);
  }
  t.equal(await server.command('GET', 'n'), null);
  t.match(log.failures, [/out of range/]);
});

t.test('of refusals each kind is told once a minute', async (t) => {
  const log = silentLog();
  let now = 0;
  const outage = new RedisOutage(log, () => now);
  for (let i = 0; i < 10; i++) {
    outage.refused('OOM', 'OOM no memory');
    outage.refused('READONLY', 'READONLY a replica');
  }
  t.match(log.failures, [/OOM/, /READONLY/]);
  t.equal(log.failures.length, 2);
  now = 60_000;
  outage.refused('OOM', 'OOM no memory');
  t.equal(log.failures.length, 3);
  for (let i = 0; i < 100; i++) outage.refused(`kind ${i}`, 'x');
  t.equal(log.failures.length, 3 + 18);
});

t.test('commands that are given up together end their connection once', async (t) => {
  const { server, redis } = await connected(t);
  server.pause();
  const failures = await Promise.all(Array.from({ length: 100 }, () => rejectionOf(redis.get('key'))));
  t.ok(failures.every(({ name }) => name === 'RedisFailure'));
  server.resume();
  await untilAnswered(redis);
  t.strictSame(warnings, []);
});
