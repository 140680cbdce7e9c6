/**
 * What does a cache between processes save a read, and what does a writer wait for while Redis is away?
 * Baseline: the same process without a cache. Two query processes, one ClickHouse (the engine behind HTTP) and one Redis.
 *
 *   node --import tsx bench/query/shared-cache.ts
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { spaceOf } from '../../test/services/query-harness.ts';
import { structureOf } from '../../test/services/record-client.ts';
import { startRedis } from '../../test/services/redis.ts';
import { sendOverHttp } from '../../test/services/send-over-http.ts';
import { startClickhouse } from '../../test/services/start-clickhouse.ts';
import { removeData, type Sluice, startSluice } from '../../test/services/start-sluice.ts';
import { quantile } from '../upload/harness/median.ts';

const server = await startClickhouse();
const redis = await startRedis();
const env = { CLICKHOUSE_URL: server.url, CLICKHOUSE_DATABASE: 'bench', REDIS_URL: redis.url };
const start = (more: Record<string, string> = {}): Promise<Sluice> =>
  startSluice({ script: 'query/main.ts', env: { ...env, ...more } });
const [one, other] = [await start(), await start({ RECORD_CACHE_BYTES: '0' })];
const structure = structureOf('p', 'bench', [
  { name: 'n', type: 'NUMBER' },
  { name: 'text', type: 'TEXT' },
]);
const through = (sluice: Sluice) => {
  const send = sendOverHttp(() => sluice);
  return spaceOf(
    {
      call: async (call) => {
        const answer = await send(call);
        if (answer?.status !== 200) throw new Error(`answered ${answer?.status}: ${answer?.text}`);
        return answer;
      },
    },
    'p',
    'bench',
    structure,
  );
};
const cached = through(one);
const uncached = through(other);
await cached.insert(Array.from({ length: 2000 }, (_, n) => ({ n: n % 100, text: `text ${n}` })));

/** Milliseconds until each is answered, by so many callers. */
async function measure(
  name: string,
  callers: number,
  count: number,
  call: () => Promise<unknown>,
): Promise<void> {
  const waits: number[] = [];
  let left = count;
  const began = performance.now();
  const work = async (): Promise<void> => {
    while (left-- > 0) {
      const sent = performance.now();
      await call();
      waits.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: callers }, work));
  const at = (share: number): string => quantile(waits, share).toFixed(1);
  const rate = Math.round((waits.length / (performance.now() - began)) * 1000);
  process.stdout.write(
    `${name}, ${callers} callers: median ${at(0.5)} ms, p99 ${at(0.99)}, longest ${at(1)}, ${rate}/s\n`,
  );
}

// a server of Redis that began just now gives no versions
await sleep(7000);
for (const callers of [1, 16]) {
  for (const [name, space] of [
    ['without a cache', uncached],
    ['with the cache between processes', cached],
  ] as const) {
    await measure(`warm up, ${name}`, callers, 20, () => space.find('n=7'));
    await measure(`find, ${name}`, callers, 150, () => space.find('n=7'));
  }
}
for (const [name, space] of [
  ['the process that keeps results', cached],
  ['another one', uncached],
] as const) {
  await measure(`insertOne, Redis there, ${name}`, 1, 15, () => space.insertOne({ n: 7 }));
}
await redis.kill();
for (const [name, space] of [
  ['the process that keeps results', cached],
  ['another one', uncached],
] as const) {
  await measure(`first insertOne, Redis away, ${name}`, 1, 1, () => space.insertOne({ n: 7 }));
  await measure(`insertOne, Redis away, ${name}`, 1, 5, () => space.insertOne({ n: 7 }));
}
for (const sluice of [one, other]) {
  await sluice.kill();
  await removeData(sluice);
}
await server.close();
await redis.stop();
process.exit();
