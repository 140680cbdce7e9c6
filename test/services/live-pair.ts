import type { Test } from 'tap';
import { migrate } from '#catalogue/migrate.ts';
import { migrations } from '#catalogue/migrations.ts';
import { LiveStore } from './live-stores.ts';
import { startRestrictedRedis } from './redis-rights.ts';
import { startTcpProxy } from './tcp-proxy.ts';
import { openTestClickhouse } from './test-clickhouse.ts';

/** Two processes over one ClickHouse and one Redis, which the second reaches over a line that can be cut. All end with the test. */
export async function openLivePair(
  t: Pick<Test, 'teardown'>,
  clickhouse: { readonly url: string; close(): Promise<unknown> },
) {
  const redis = await startRestrictedRedis();
  const config = { ...redis.config, ...redis.user };
  const proxy = await startTcpProxy({ target: redis.config });
  const db = openTestClickhouse({ url: clickhouse.url });
  await migrate(db, 'sluice', migrations);
  const one = await LiveStore.open(db, config);
  const two = await LiveStore.open(db, { ...config, port: proxy.port });
  t.teardown(async () => {
    for (const each of [one, two]) await each.close();
    await redis.stop();
    await proxy.close();
    await db.close();
    await clickhouse.close();
  });
  const freeze = (frozen: boolean): void => {
    for (const direction of ['toClient', 'toTarget'] as const) proxy.set(direction, { frozen });
  };
  return { redis, config, proxy, db, one, two, freeze };
}
