/** Failed logins that two processes count together, and what they do while Redis fails. */
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { LoginThrottle, loginThrottleDefaults } from '#auth/login-throttle.ts';
import { createSharedFailures, type FailureDelays } from '#auth/shared-failures.ts';
import { createConfiguredKeys } from '#auth/signing-keys.ts';
import { openRedis } from '#coordination/redis/open-redis.ts';
import type { RedisConfigOf } from '#kernel/config/read-redis.ts';
import { startRestrictedRedis } from '../services/redis-rights.ts';
import { silentLog } from '../services/silent-log.ts';
import { startTcpProxy } from '../services/tcp-proxy.ts';

const server = await startRestrictedRedis();
const proxy = await startTcpProxy({ target: server.config });
// slower than an attempt waits for it, so that slow is not the same as gone
const quick = { connect: 1000, command: 1000, backoff: 50 };
const keys = createConfiguredKeys('a secret of the deployment, and long enough');
const log = silentLog();
const closing: (() => Promise<void>)[] = [];
t.teardown(async () => {
  for (const close of closing) await close();
  await server.stop();
  await proxy.close();
});

/** A process: it waits for nobody, so a delay shows as a 429. Its own clock stands: only Redis counts time. */
async function openProcess(
  delays: Partial<FailureDelays> = {},
  config: RedisConfigOf<'standalone'> = server.config,
) {
  const redis = await openRedis({ ...config, ...server.user }, log, quick);
  closing.push(() => redis.close());
  const all = { ...loginThrottleDefaults, firstDelay: 8000, ...delays };
  const shared = createSharedFailures({ redis, keys, delays: all, log });
  const options = { ...loginThrottleDefaults, ...all, longestWait: 0 };
  let looks = 0;
  const throttle = new LoginThrottle(options, { shared, now: () => 0 });
  return {
    shared,
    looks: () => looks,
    attempt: async (identity: string, result: 'user' | null | Error = null): Promise<string> => {
      const attempt = async (): Promise<string | null> => {
        looks++;
        if (result instanceof Error) throw result;
        return result;
      };
      try {
        return (await throttle.run(identity, attempt, new AbortController().signal)) ?? 'refused';
      } catch (error) {
        const { status, headers, message } = error as {
          status?: number;
          headers?: Record<string, string>;
          message: string;
        };
        return status === undefined ? message : `${status} ${headers?.['retry-after']}`;
      }
    },
  };
}
const a = await openProcess();
const b = await openProcess();
const behind = await openProcess({}, { ...server.config, port: proxy.port });

t.test('failures at one process delay an attempt at another, which looks at nothing', async (t) => {
  for (const process of [a, b, a, b]) t.equal(await process.attempt('ada'), 'refused');
  const looks = [a.looks(), b.looks()];
  for (const process of [a, b]) t.match(await process.attempt('ada', 'user'), /^429 [78]$/);
  t.strictSame([a.looks(), b.looks()], looks);
  t.equal(await b.attempt('grace', 'user'), 'user', 'others are not delayed');
});

t.test('guesses at n processes are n times as many nowhere', async (t) => {
  const processes = await Promise.all(Array.from({ length: 6 }, () => openProcess()));
  const all = processes.flatMap((process) => Array.from({ length: 10 }, () => process.attempt('many')));
  const answers = await Promise.all(all);
  t.equal(answers.filter((answer) => answer === 'refused').length, 4);
  t.equal(answers.filter((answer) => answer.startsWith('429')).length, 56);
});

t.test('a success at one process is a success for all', async (t) => {
  for (let round = 0; round < 5; round++) {
    for (const process of [a, b, a]) t.equal(await process.attempt('lovelace'), 'refused');
    t.equal(await b.attempt('lovelace', 'user'), 'user');
    // what it counted itself is forgotten with a success of its own
    t.equal(await a.attempt('lovelace', 'user'), 'user');
  }
});

t.test('an attempt of which nobody knows how it ended is no failure', async (t) => {
  for (let i = 0; i < 20; i++) {
    t.equal(
      await (i % 2 === 0 ? a : b).attempt('hopper', new Error('the store is away')),
      'the store is away',
    );
  }
  t.equal(await a.attempt('hopper', 'user'), 'user');
  for (const process of [a, b, a]) t.equal(await process.attempt('curie'), 'refused');
  t.equal(await b.attempt('curie', new Error('away')), 'away');
  t.equal(await b.attempt('curie'), 'refused', 'and takes back no more than itself');
  t.match(await a.attempt('curie'), /^429/);
});

t.test('each failure doubles the delay, and the delay ends', async (t) => {
  const delays = { firstDelay: 100, longestDelay: 400 };
  const both = [await openProcess(delays), await openProcess(delays)] as const;
  const waits: number[] = [];
  /** At most, since the attempt before was let through. */
  const gone: number[] = [];
  let before = performance.now();
  for (let i = 0; i < 8; i++) {
    let asked = performance.now();
    let wait = await both[i % 2 === 0 ? 0 : 1].shared.begin('turing');
    waits.push(wait ?? -1);
    gone.push(performance.now() - before);
    while (wait !== null && wait > 0) {
      await sleep(wait);
      asked = performance.now();
      wait = await both[0].shared.begin('turing');
    }
    t.equal(wait, 0);
    before = asked;
  }
  t.strictSame(waits.slice(0, 4), [0, 0, 0, 0]);
  for (const [i, most] of [100, 200, 400, 400].entries()) {
    const wait = waits[4 + i] as number;
    // in whole milliseconds; on a busy machine some of the delay is over
    const least = Math.max(0, most - (gone[4 + i] as number) - 2);
    t.ok(wait >= least && wait <= most, `${wait} of ${most}, at least ${least}`);
  }
});

t.test('a short delay is waited for, at whichever process', async (t) => {
  const delays = { ...loginThrottleDefaults, firstDelay: 60 };
  const { shared } = await openProcess(delays);
  for (let i = 0; i < 4; i++) t.equal(await shared.begin('shannon'), 0);
  const throttle = new LoginThrottle(delays, { shared });
  t.equal(await throttle.run('shannon', async () => 'user', new AbortController().signal), 'user');
  t.equal(await shared.begin('shannon'), 0, 'and forgotten');
});

t.test('who goes away while waiting stops waiting', async (t) => {
  const { shared } = await openProcess();
  for (let i = 0; i < 4; i++) await shared.begin('gone');
  const throttle = new LoginThrottle({ ...loginThrottleDefaults, longestWait: 60_000 }, { shared });
  const controller = new AbortController();
  const waiting = throttle.run('gone', async () => 'user', controller.signal);
  setTimeout(() => controller.abort(new Error('went away')), 20);
  await t.rejects(waiting, { code: 'ABORT_ERR' });
});

t.test('what Redis holds tells nobody who it is, and ends', async (t) => {
  await a.attempt('someone@example.com');
  const names = (await server.command('KEYS', 'sluice:login:*')) as string[];
  t.ok(names.length > 0);
  for (const name of names) {
    t.match(name, /^sluice:login:1:[\w-]{43}$/);
    const left = Number(await server.command('PTTL', name));
    t.ok(left > 0 && left <= loginThrottleDefaults.rememberedFor, `${left}`);
  }
});

t.test('what is no count in Redis counts as none', async (t) => {
  await a.attempt('vandal');
  for (const name of (await server.command('KEYS', 'sluice:login:*')) as string[]) {
    await server.command('SET', name, 'nonsense');
  }
  t.equal(await b.attempt('vandal', 'user'), 'user');
});

async function untilShared(process: typeof a): Promise<void> {
  while ((await process.shared.begin('is it there')) === null) await sleep(20);
}

/** Each process goes on by itself: a good login works, and failures that it saw itself delay. */
async function onItsOwn(t: Test, process: typeof a, identity: string): Promise<void> {
  t.equal(await process.attempt(`${identity}, good`, 'user'), 'user');
  for (let i = 0; i < 4; i++) t.equal(await process.attempt(identity), 'refused');
  t.match(await process.attempt(identity, 'user'), /^429 8$/);
}

t.test('Redis is stopped', async (t) => {
  server.pause();
  await onItsOwn(t, behind, 'stopped');
  server.resume();
});

t.test('Redis is slower than is waited for', async (t) => {
  await untilShared(behind);
  proxy.set('toTarget', { delayMs: 400 });
  await onItsOwn(t, behind, 'slow');
  proxy.set('toTarget', { delayMs: 0 });
});

t.test('Redis is full', async (t) => {
  const used = /used_memory:(\d+)/.exec(String(await server.command('INFO', 'memory')))?.[1];
  await server.command('CONFIG', 'SET', 'maxmemory', Math.floor(Number(used) / 2));
  await onItsOwn(t, a, 'full');
  await server.command('CONFIG', 'SET', 'maxmemory', 0);
});

t.test('Redis is gone, and comes back empty', async (t) => {
  await server.kill();
  await onItsOwn(t, a, 'gone');
  await server.start();
  for (const process of [a, b]) await untilShared(process);
  for (const process of [b, b, b, b]) t.equal(await process.attempt('back'), 'refused');
  t.match(await a.attempt('back'), /^429/, 'they count together again');
});

t.test('outages of Redis are no failures of this', async (t) => {
  t.strictSame(
    log.failures.filter((failure) => failure.includes('cannot be shared')),
    [],
  );
});
