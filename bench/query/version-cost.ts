/**
 * What does the version of a space cost a write, and a read, when it is in Redis?
 * Baseline: the same without (docs/decisions/012-space-versions.md). Needs a Redis that may be written to.
 *
 *   REDIS_URL=redis://127.0.0.1:6379/9 node --import tsx bench/query/version-cost.ts
 */
import { randomUUID } from 'node:crypto';
import { readConfig } from '../../common/config/read-config.ts';
import { createLog } from '../../common/log/log.ts';
import { openRedis } from '../../common/redis/open-redis.ts';
import { CacheOutages } from '../../query/store-shared/cache-outages.ts';
import { RedisVersions } from '../../query/store-shared/redis-versions.ts';
import { quantile } from '../upload/harness/median.ts';

const config = readConfig(process.env);
if (config.redis === undefined) throw new Error('REDIS_URL says which Redis may be used');
const log = createLog('warn');
const redis = await openRedis(config.redis, log);
// nobody writes without Redis
const quiet = { rows: async () => [{ outages: 0 }] as never[], command: async () => {} };
const outages = new CacheOutages({ db: quiet, database: 'sluice' });
const versions = new RedisVersions({ redis, log, outages, times: { settledAfter: 0 } });
const spaces = Array.from({ length: 100 }, () => randomUUID());
const total = 40_000;

/** Microseconds of this process' CPU for one call, milliseconds until one settles, calls a second. */
async function measure(name: string, callers: number, call: (i: number) => Promise<unknown>): Promise<void> {
  const run = async (count: number): Promise<number[]> => {
    const waits: number[] = [];
    let next = 0;
    await Promise.all(
      Array.from({ length: callers }, async () => {
        while (next < count) {
          const began = performance.now();
          await call(next++);
          waits.push(performance.now() - began);
        }
      }),
    );
    return waits;
  };
  await run(total / 10);
  const cpu = process.cpuUsage();
  const began = performance.now();
  const waits = await run(callers === 1 ? total / 10 : total);
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - began) / 1000;
  const at = (share: number): string => quantile(waits, share).toFixed(2);
  process.stdout.write(
    `${name}, ${callers} callers: ${((user + system) / waits.length).toFixed(1)} us CPU, ${at(0.5)} ms (p99 ${at(0.99)}), ${Math.round(waits.length / seconds)}/s\n`,
  );
}

const spaceOf = (i: number): string => spaces[i % spaces.length] as string;
const write = async (spaceId: string): Promise<void> =>
  (await versions.begin(spaceId))({ ids: [spaceId], areNew: true });
for (const callers of [1, 64]) {
  await measure('nothing', callers, () => new Promise((resolve) => setImmediate(resolve)));
  await measure('write, of 100 spaces', callers, (i) => write(spaceOf(i)));
  await measure('write, of one space', callers, () => write(spaceOf(0)));
  await measure('read, of 100 spaces', callers, (i) => versions.read(spaceOf(i)));
  await measure('read, of one space', callers, () => versions.read(spaceOf(0)));
  await measure('GET, for comparison', callers, (i) => redis.get(spaceOf(i)));
}
await redis.close();
