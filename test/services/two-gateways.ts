import type { Test } from 'tap';
import { startRestrictedRedis } from './redis-rights.ts';
import { startS3Stub } from './s3-stub/start-s3-stub.ts';
import { stubSettings } from './s3-stub/stub-settings.ts';
import { startClickhouse } from './start-clickhouse.ts';
import { killAll, startSluice } from './start-sluice.ts';

/** Two gateways on one bucket, with a ClickHouse server and Redis. @param more of their environment */
export async function twoGateways(t: Test, more: Readonly<Record<string, string>> = {}) {
  const server = await startClickhouse();
  const redis = await startRestrictedRedis();
  const stub = await startS3Stub();
  t.teardown(async () => {
    await server.close();
    await redis.stop();
    await stub.close();
  });
  const env = {
    ...stubSettings(stub),
    CLICKHOUSE_URL: server.url,
    REDIS_URL: redis.url,
    REDIS_USERNAME: redis.user.username,
    REDIS_PASSWORD: redis.user.password,
    ...more,
  };
  // the first one makes the tables
  const one = await startSluice({ script: 'gateway/main.ts', env });
  const two = await startSluice({ script: 'gateway/main.ts', env });
  t.teardown(() => killAll([one, two]));
  return { one, two, env };
}
