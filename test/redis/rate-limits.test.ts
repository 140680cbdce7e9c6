/** Requests that two processes limit together, and what they do while Redis is away. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { RequestLimiter } from '#coordination/rate-limits/request-limiter.ts';
import { createSharedLimiter } from '#coordination/rate-limits/shared-limiter.ts';
import { openRedis } from '#coordination/redis/open-redis.ts';
import type { RequestLimits } from '#kernel/config/settings.ts';
import { ApiError } from '#kernel/errors/api-error.ts';
import { startRestrictedRedis } from '../services/redis-rights.ts';
import { silentLog } from '../services/silent-log.ts';

const server = await startRestrictedRedis();
// on a busy machine an answer takes as long as it takes: a request that goes on without it is counted here alone
const patience = 600_000;
const times = { connect: patience, command: patience, backoff: 50 };
const log = silentLog();
const closing: (() => Promise<void>)[] = [];
t.teardown(async () => {
  for (const close of closing) await close();
  await server.stop();
});

/** A process whose own clock stands, so that its bucket is filled by nothing: only Redis counts time. */
async function openProcess(kind: string, limits: RequestLimits) {
  const redis = await openRedis({ ...server.config, ...server.user }, log, times);
  const shared = createSharedLimiter({ redis, kind, limits, log, patience });
  const clock = { now: 0 };
  const limiter = new RequestLimiter({ limits, shared, now: () => clock.now });
  closing.push(async () => {
    limiter.close();
    await redis.close();
  });
  const ends: (() => void)[] = [];
  return {
    clock,
    ends,
    async ask(sender: string): Promise<boolean> {
      try {
        await limiter.admit(sender, (end) => ends.push(end));
        return true;
      } catch (error) {
        if (error instanceof ApiError && error.code === 'rate_limited') return false;
        throw error;
      }
    },
  };
}

const count = (answers: readonly boolean[]): number => answers.filter((admitted) => admitted).length;

t.test('two processes admit together what one would alone', async (t) => {
  // Redis' own clock adds none while the test runs
  const limits = { rate: 1e-6, burst: 20, inFlight: 0 };
  const processes = [await openProcess('token', limits), await openProcess('token', limits)];
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) => processes[i % 2]?.ask('ada') as Promise<boolean>),
  );
  t.equal(count(answers), 20, 'of 40, and each process may admit 20');
  t.ok(await processes[0]?.ask('grace'), 'another sender is not limited');
  const left = Number(await server.command('PTTL', 'sluice:rate:1:token:ada'));
  t.ok(left > 0 && left <= 20e9 + 1000, 'and is forgotten when its bucket is full');
});

t.test('requests in flight count over all processes, until they are over', async (t) => {
  const limits = { rate: 0, burst: 1, inFlight: 4 };
  const [one, two] = [await openProcess('address', limits), await openProcess('address', limits)];
  t.equal(count(await Promise.all([1, 2, 3].map(() => one.ask('192.0.2.1')))), 3);
  t.strictSame([await two.ask('192.0.2.1'), await two.ask('192.0.2.1')], [true, false]);
  one.ends[0]?.();
  // it asks anew after a moment
  two.clock.now += 1000;
  while (!(await two.ask('192.0.2.1'))) two.clock.now += 1000;
  t.notOk(await one.ask('192.0.2.1'));
  for (const end of [...one.ends, ...two.ends]) end();
  while ((await server.command('EXISTS', 'sluice:rate:1:address:192.0.2.1')) !== 0) await sleep(10);
  t.pass('nothing is left of a sender whose requests are over');
});

t.test('while Redis is away each process limits by itself', async (t) => {
  const limits = { rate: 1, burst: 5, inFlight: 3 };
  const one = await openProcess('token', limits);
  const two = await openProcess('token', limits);
  await server.kill();
  for (const process of [one, two]) {
    const answers = [];
    for (let i = 0; i < 10; i++) {
      answers.push(await process.ask('hopper'));
      process.ends.at(-1)?.();
    }
    t.equal(count(answers), 5);
  }
  const third = await openProcess('token', limits);
  t.equal(count(await Promise.all(Array.from({ length: 10 }, () => third.ask('x')))), 3, 'in flight');
  await server.start();
});
