/** The distance that statements of several processes keep, by table and store. */
import t from 'tap';
import { openRedis } from '#coordination/redis/open-redis.ts';
import { sharedPace } from '#engine/shared-pace.ts';
import { startRestrictedRedis } from '../services/redis-rights.ts';
import { silentLog } from '../services/silent-log.ts';

const log = silentLog();
const server = await startRestrictedRedis();
const open = () => openRedis({ ...server.config, ...server.user }, log);
const [one, other] = await Promise.all([open(), open()]);
t.teardown(async () => {
  await one.close();
  await other.close();
  await server.stop();
});

const busy = { queue: 'records', lone: false };
const paces = (table: string) =>
  [one, other].map((redis) => sharedPace({ redis, log }, table) ?? (async () => -1));

t.test('statements of two processes have turns of 40 ms, and a second of them at most', async (t) => {
  const [a, b] = paces('shared') as [Turn, Turn];
  const turns = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      const asked = performance.now();
      const wait = await (i % 2 ? a : b)(busy);
      return { wait, from: asked + wait, to: performance.now() + wait };
    }),
  );
  const sorted = (of: 'wait' | 'from' | 'to') =>
    turns.map((turn) => turn[of]).sort((x, y) => x - y) as [number, ...number[]];
  // it is known between which moments Redis was asked, however long that took; its clock is cut to milliseconds
  const [waits, from, to] = [sorted('wait'), sorted('from'), sorted('to')];
  for (const [i, wait] of waits.entries()) {
    t.ok(wait <= Math.min(40 * i, 1000), `no more than ${i} turns: ${wait} ms`);
    const apart = (to[i] as number) - from[0];
    t.ok(apart + 2 >= Math.min(40 * i, 1000), `${i} turns after the first: ${apart} ms`);
  }
});
type Turn = NonNullable<ReturnType<typeof sharedPace>>;

t.test('a caller lone waits for others only', async (t) => {
  const [a, b] = paces('lone') as [Turn, Turn];
  const lone = { queue: 'records', lone: true };
  t.equal(await a(lone), 0);
  t.equal(await a(lone), 0);
  const waits = await Promise.all(Array.from({ length: 5 }, () => b(busy)));
  t.ok(Math.max(...waits) > 80);
  t.ok((await a(lone)) > 80);
});

t.test('tables and stores have turns of their own', async (t) => {
  const [a] = paces('one') as [Turn, Turn];
  const [, b] = paces('two') as [Turn, Turn];
  for (let i = 0; i < 5; i++) await a(busy);
  t.equal(await b(busy), 0);
  t.equal(await a({ queue: '@1 records', lone: false }), 0);
  t.ok((await a(busy)) > 80);
});

t.test('without Redis nobody waits', async (t) => {
  t.equal(sharedPace({ log }, 'any'), undefined);
  const [a] = paces('away') as [Turn, Turn];
  for (let i = 0; i < 5; i++) await a(busy);
  await server.stop();
  t.equal(await a(busy), 0);
});
